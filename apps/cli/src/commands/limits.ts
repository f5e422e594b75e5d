import {
  type ApiKeyId,
  apiKeyIdOf,
  apiKeySubject,
  isKnownPlan,
  StorageUnavailableError,
  subjectNameOf,
} from '@petstore/domain';
import type { RateLimitAdministration, RateLimitSnapshot, WindowStatus } from '@petstore/rate-limit';
import type { Command } from 'commander';
import { type ActorFlag, actorOption, type JsonFlag, keyArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { describeMoment } from '../relative-time.ts';
import { redisOf, type Session } from '../session.ts';
import { writeTable } from '../table.ts';
import { findKey } from './keys.ts';

const NEEDS = { needsRedis: true } as const;

/** `petstore limits` and `petstore bans`: how much keys have used, and which keys are banned. */
export function addLimitsCommands(program: Command, context: CommandContext): void {
  const limits = program.command('limits').description('Show the rate limit usage of a key');
  limits
    .command('show')
    .description('Show the usage of both windows, without counting a request')
    .addArgument(keyArgument())
    .action((id: ApiKeyId, flags: JsonFlag) => showLimits(context, id, flags));
  const bans = program.command('bans').description('List and lift bans');
  bans
    .command('list')
    .description('List banned keys, longest remaining first')
    .action((flags: JsonFlag) => listBans(context, flags));
  bans
    .command('lift')
    .description('Lift the ban of a key, and reset its refusals')
    .addArgument(keyArgument())
    .addOption(actorOption())
    .action((id: ApiKeyId, flags: ActorFlag) => liftBan(context, id, flags));
}

/** Prints a key's use of its windows. */
async function showLimits({ withSession, output }: CommandContext, id: ApiKeyId, { json }: JsonFlag): Promise<void> {
  const snapshot = await withSession(async (session) => {
    const { plan } = await findKey(session, id);
    if (!isKnownPlan(plan)) throw new CommandError(`only a newer release knows the plan ${plan.name} and its limits`);
    return withLimits(session, (limits) => limits.readStatus(apiKeySubject(id, plan)));
  }, NEEDS);
  if (json) return output.writeJson(snapshotJson(snapshot));
  const { minute, day } = snapshot;
  const rows = [rowOf('minute', minute), ...(day === undefined ? [] : [rowOf('day', day)])];
  await writeTable(output, rows);
  output.message(describeStanding(snapshot));
}

function describeStanding({ refusals, ban }: RateLimitSnapshot): string {
  const status = ban === undefined ? 'Not banned' : `Banned until ${describeMoment(new Date(ban.untilMs), new Date())}`;
  return `${status}; ${refusals === 1 ? '1 refusal counts' : `${refusals} refusals count`} towards a ban.`;
}

/** Prints which keys are banned. */
async function listBans({ withSession, output }: CommandContext, { json }: JsonFlag): Promise<void> {
  const bans = await withSession((session) => withLimits(session, (limits) => limits.listBans()), NEEDS);
  const rows = bans.map(({ subject, untilMs, level }) => ({
    id: apiKeyIdOf(subject) ?? null,
    until: new Date(untilMs),
    level,
  }));
  if (json) return output.writeJson(rows);
  if (rows.length === 0) return output.message('No banned keys.');
  await writeTable(output, rows);
}

/** Ends the ban of a key. */
async function liftBan({ withSession, output }: CommandContext, id: ApiKeyId, flags: ActorFlag): Promise<void> {
  const ban = await withSession(async (session) => {
    await findKey(session, id);
    const lifted = await withLimits(session, (limits) => limits.liftBan(subjectNameOf(id)));
    const event = { action: 'ban.lifted', at: new Date(), actor: flags.as, keyId: id } as const;
    if (lifted !== undefined) {
      await session.persistence.audit.recordBan(event).catch((error: unknown) => {
        if (!(error instanceof StorageUnavailableError)) throw error;
        throw new CommandError(`the ban was lifted, but not recorded in the audit trail: ${error.message}`, {
          cause: error,
        });
      });
    }
    return lifted;
  }, NEEDS);
  const until = ban === undefined ? null : formatTime(ban.untilMs);
  if (flags.json) await output.writeJson({ id, lifted: ban !== undefined, level: ban?.level ?? null, until });
  else if (ban === undefined) output.message(`${id} was not banned; its refusals are reset.`);
  else output.message(`Lifted ban ${ban.level} of ${id}, which was to last until ${until}.`);
}

/** @throws CommandError if Redis does not respond */
async function withLimits<Value>(
  { settings }: Session,
  work: (limits: RateLimitAdministration) => Promise<Value>,
): Promise<Value> {
  const { connectToAdministrate, RedisUnavailableError } = await import('@petstore/rate-limit');
  try {
    await using limits = await connectToAdministrate(redisOf(settings), { keyPrefix: settings.redisPrefix });
    return await work(limits);
  } catch (error) {
    if (error instanceof RedisUnavailableError) throw new CommandError(error.message);
    throw error;
  }
}

const formatTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** `reset` is a Unix timestamp in seconds, rounded up, as in X-RateLimit-Reset. */
const windowJson = ({ limit, used, remaining, resetAtMs }: WindowStatus) => ({
  limit,
  used,
  remaining,
  reset: Math.ceil(resetAtMs / 1_000),
});

const snapshotJson = ({ minute, day, refusals, ban }: RateLimitSnapshot) => ({
  minute: windowJson(minute),
  day: day === undefined ? null : windowJson(day),
  strikes: refusals,
  ban: ban === undefined ? null : { until: formatTime(ban.untilMs), level: ban.level },
});

/** A window in which nothing was used has no reset. */
const rowOf = (window: string, { limit, used, remaining, resetAtMs }: WindowStatus) => ({
  window,
  limit,
  used,
  remaining,
  reset: used === 0 ? null : new Date(resetAtMs),
});
