import { type ApiKeyId, limitsOfPlan } from '@petstore/domain';
import { apiKeySubject, type PeekedStanding, type WindowStanding } from '@petstore/rate-limit';
import type { Command } from 'commander';
import { apiKeyIdOf } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandFailure } from '../failure.ts';
import { withLimits } from '../limits-session.ts';
import { renderTable } from '../render-table.ts';

interface JsonOption {
  readonly json?: true;
}

/** `petstore limits` and `petstore bans`: what keys have used, and which are shut out. */
export function addLimitsCommands(program: Command, context: CommandContext): void {
  const limits = program.command('limits').description('show what a key has used of its limits');
  limits
    .command('show <ID>')
    .description('show where a key stands in both windows; costs it nothing')
    .option('--json', 'print one JSON value')
    .action((id: string, flags: JsonOption) => showLimits(context, apiKeyIdOf(id), flags));
  const bans = program.command('bans').description('show and lift bans');
  bans
    .command('list')
    .description('show the keys that are banned, those that wait longest first')
    .option('--json', 'print one JSON value')
    .action((flags: JsonOption) => listBans(context, flags));
  bans
    .command('lift <ID>')
    .description('lift the ban of a key and forget its strikes; running servers follow within 5 s')
    .option('--json', 'print one JSON value')
    .action((id: string, flags: JsonOption) => liftBan(context, apiKeyIdOf(id), flags));
}

async function showLimits({ withSession, output }: CommandContext, id: ApiKeyId, { json }: JsonOption) {
  const standing = await withSession(async (session) => {
    const key = await session.persistence.keyAdministration.findKey(id);
    if (key === undefined) throw new CommandFailure(`there is no key with the id ${id}`);
    return withLimits(session, (limits) => limits.showStanding(apiKeySubject(id, limitsOfPlan(key.plan))));
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

async function listBans({ withSession, output }: CommandContext, { json }: JsonOption) {
  const bans = await withSession((session) => withLimits(session, (limits) => limits.listBans()));
  const rows = bans.map(({ keyId, untilMs, level }) => ({ id: keyId, until: timeText(untilMs), level }));
  if (json) await output.write(`${JSON.stringify(rows)}\n`);
  else if (rows.length === 0) output.say('No key is banned.');
  else await output.write(renderTable(rows));
}

async function liftBan({ withSession, output }: CommandContext, id: ApiKeyId, { json }: JsonOption) {
  const lifted = await withSession(async (session) => {
    const key = await session.persistence.keyAdministration.findKey(id);
    if (key === undefined) throw new CommandFailure(`there is no key with the id ${id}`);
    return withLimits(session, (limits) => limits.liftBan(id));
  });
  if (json) await output.write(`${JSON.stringify({ id, lifted })}\n`);
  else output.say(lifted ? `The ban of ${id} is lifted.` : `${id} was not banned; its strikes are forgotten.`);
}

const timeText = (timeMs: number): string => new Date(timeMs).toISOString();

/** As X-RateLimit-Reset has it: a Unix timestamp in seconds, rounded up. */
const windowJson = ({ limit, remaining, resetAtMs }: WindowStanding, used = 0) => ({
  limit,
  used,
  remaining,
  reset: Math.ceil(resetAtMs / 1_000),
});

const standingJson = ({ minute, day, used, strikes, ban }: PeekedStanding) => ({
  minute: windowJson(minute, used.minute),
  day: day === undefined ? null : windowJson(day, used.day),
  strikes,
  ban: ban === undefined ? null : { until: timeText(ban.untilMs), level: ban.level },
});

function windowRow(window: string, standing: WindowStanding, units: number | undefined) {
  const { limit, used, remaining } = windowJson(standing, units);
  return { window, limit, used, remaining, reset: timeText(standing.resetAtMs) };
}
