import { type ApiKeyId, limitsOfPlan } from '@petstore/domain';
import { apiKeySubject, type RateLimitSnapshot, type WindowStatus } from '@petstore/rate-limit';
import type { Command } from 'commander';
import { apiKeyIdOf, type JsonFlags, jsonOption } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { findKey } from '../find-key.ts';
import { withLimits } from '../limits-session.ts';
import { renderTable } from '../render-table.ts';

/** `petstore limits` and `petstore bans`: what keys have used, and which are shut out. */
export function addLimitsCommands(program: Command, context: CommandContext): void {
  const limits = program.command('limits').description('show what a key has used of its limits');
  limits
    .command('show <ID>')
    .description('show where a key stands in both windows; costs it nothing')
    .addOption(jsonOption())
    .action((id: string, flags: JsonFlags) => showLimits(context, apiKeyIdOf(id), flags));
  const bans = program.command('bans').description('show and lift bans');
  bans
    .command('list')
    .description('show the keys that are banned, those that wait longest first')
    .addOption(jsonOption())
    .action((flags: JsonFlags) => listBans(context, flags));
  bans
    .command('lift <ID>')
    .description('lift the ban of a key and forget its strikes; running servers follow within 5 s')
    .addOption(jsonOption())
    .action((id: string, flags: JsonFlags) => liftBan(context, apiKeyIdOf(id), flags));
}

async function showLimits({ withSession, output }: CommandContext, id: ApiKeyId, { json }: JsonFlags) {
  const standing = await withSession(async (session) => {
    const { plan } = await findKey(session, id);
    return withLimits(session, (limits) => limits.readStatus(apiKeySubject(id, limitsOfPlan(plan))));
  });
  if (json) {
    await output.write(`${JSON.stringify(standingJson(standing))}\n`);
    return;
  }
  const { minute, day, used, strikes, ban } = standing;
  await output.write(
    renderTable([windowRow('minute', minute, used.minute), ...(day ? [windowRow('day', day, used.day)] : [])]),
  );
  output.say(
    ban === undefined
      ? `Not banned; ${strikes} strikes.`
      : `Banned until ${timeText(ban.untilMs)} (ban ${ban.level}); ${strikes} strikes.`,
  );
}

async function listBans({ withSession, output }: CommandContext, { json }: JsonFlags) {
  const bans = await withSession((session) => withLimits(session, (limits) => limits.listBans()));
  const rows = bans.map(({ keyId, untilMs, level }) => ({ id: keyId, until: timeText(untilMs), level }));
  if (json) await output.write(`${JSON.stringify(rows)}\n`);
  else if (rows.length === 0) output.say('No key is banned.');
  else await output.write(renderTable(rows));
}

async function liftBan({ withSession, output }: CommandContext, id: ApiKeyId, { json }: JsonFlags) {
  const lifted = await withSession(async (session) => {
    await findKey(session, id);
    return withLimits(session, (limits) => limits.liftBan(id));
  });
  if (json) await output.write(`${JSON.stringify({ id, lifted })}\n`);
  else output.say(lifted ? `The ban of ${id} is lifted.` : `${id} was not banned; its strikes are forgotten.`);
}

const timeText = (timeMs: number): string => new Date(timeMs).toISOString();

/** As X-RateLimit-Reset has it: a Unix timestamp in seconds, rounded up. */
const windowJson = ({ limit, remaining, resetAtMs }: WindowStatus, used = 0) => ({
  limit,
  used,
  remaining,
  reset: Math.ceil(resetAtMs / 1_000),
});

const standingJson = ({ minute, day, used, strikes, ban }: RateLimitSnapshot) => ({
  minute: windowJson(minute, used.minute),
  day: day === undefined ? null : windowJson(day, used.day),
  strikes,
  ban: ban === undefined ? null : { until: timeText(ban.untilMs), level: ban.level },
});

function windowRow(window: string, standing: WindowStatus, units: number | undefined) {
  const { limit, used, remaining } = windowJson(standing, units);
  return { window, limit, used, remaining, reset: timeText(standing.resetAtMs) };
}
