import { type ApiKeyId, apiKeyIdOf, apiKeySubject, StorageUnavailableError, subjectNameOf } from '@petstore/domain';
import {
  connectToAdministrate,
  type RateLimitAdministration,
  type RateLimitSnapshot,
  RedisUnavailableError,
  type WindowStatus,
} from '@petstore/rate-limit';
import type { ActorFlag, JsonFlag } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { describeMoment } from '../relative-time.ts';
import type { Session } from '../session.ts';
import { renderTable } from '../table.ts';
import { findKey } from './stored-key.ts';

export interface LiftFlags extends ActorFlag, JsonFlag {}

/** Prints what a key has used of its windows. */
export async function showLimits({ clock, withSession, output }: CommandContext, id: ApiKeyId, { json }: JsonFlag) {
  const snapshot = await withSession(async (session) => {
    const { plan } = await findKey(session, id);
    return withLimits(session, (limits) => limits.readStatus(apiKeySubject(id, plan)));
  });
  if (json) return output.writeJson(snapshotJson(snapshot));
  const now = clock();
  const { minute, day, used } = snapshot;
  const rows = [rowOf('minute', minute, used.minute), ...(day === undefined ? [] : [rowOf('day', day, used.day)])];
  await output.write(renderTable(rows, { columns: output.columns, now }));
  output.message(describeStanding(snapshot, now));
}

function describeStanding({ refusals, ban }: RateLimitSnapshot, now: Date): string {
  const status = ban === undefined ? 'Not banned' : `Banned until ${describeMoment(new Date(ban.untilMs), now)}`;
  return `${status}; ${refusals === 1 ? '1 refusal counts' : `${refusals} refusals count`} towards a ban.`;
}

/** Prints which keys are banned. */
export async function listBans({ clock, withSession, output }: CommandContext, { json }: JsonFlag) {
  const bans = await withSession((session) => withLimits(session, (limits) => limits.listBans()));
  const rows = bans.map(({ subject, untilMs, level }) => ({
    id: apiKeyIdOf(subject),
    until: new Date(untilMs),
    level,
  }));
  if (json) await output.writeJson(rows);
  else if (rows.length === 0) output.message('No banned keys.');
  else await output.write(renderTable(rows, { columns: output.columns, now: clock() }));
}

/** Ends the ban of a key. */
export async function liftBan(
  context: CommandContext,
  id: ApiKeyId,
  { json, as: actor = context.operator() }: LiftFlags,
) {
  const { clock, withSession, output } = context;
  const ban = await withSession(async (session) => {
    await findKey(session, id);
    const lifted = await withLimits(session, (limits) => limits.liftBan(subjectNameOf(id)));
    const event = { action: 'ban.lifted', at: clock(), actor, keyId: id } as const;
    if (lifted !== undefined) {
      await session.persistence.audit.recordBan(event).catch((error: unknown) => {
        if (!(error instanceof StorageUnavailableError)) throw error;
        throw new CommandError(`the ban is lifted, but not recorded: ${error.message}`, { cause: error });
      });
    }
    return lifted;
  });
  if (json) {
    const lifted = ban !== undefined;
    await output.writeJson({ id, lifted, level: ban?.level ?? null, until: lifted ? formatTime(ban.untilMs) : null });
  } else if (ban === undefined) {
    output.message(`${id} was not banned; its refusals are reset.`);
  } else {
    output.message(`Ban ${ban.level} of ${id}, until ${formatTime(ban.untilMs)}, is lifted.`);
  }
  if (ban?.isNoted === false) output.message('Redis refused to pass this on to the log of the servers.');
}

/** @throws CommandError where no limits are shared over Redis, or Redis does not respond */
async function withLimits<Value>(
  session: Session,
  work: (limits: RateLimitAdministration) => Promise<Value>,
): Promise<Value> {
  const target = session.settings.redis;
  if (target === undefined) {
    throw new CommandError(
      'there is no Redis: the limits live in the memory of each server, where this command cannot see them. ' +
        'Set REDIS_URL, for the servers too',
    );
  }
  try {
    await using limits = await connectToAdministrate(target, { keyPrefix: session.settings.redisPrefix });
    return await work(limits);
  } catch (error) {
    if (error instanceof RedisUnavailableError) throw new CommandError(error.message);
    throw error;
  }
}

const formatTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** `reset` is a Unix timestamp in seconds, rounded up, as in X-RateLimit-Reset. */
const windowJson = ({ limit, remaining, resetAtMs }: WindowStatus, used = 0) => ({
  limit,
  used,
  remaining,
  reset: Math.ceil(resetAtMs / 1_000),
});

const snapshotJson = ({ minute, day, used, refusals, ban }: RateLimitSnapshot) => ({
  minute: windowJson(minute, used.minute),
  day: day === undefined ? null : windowJson(day, used.day),
  strikes: refusals,
  ban: ban === undefined ? null : { until: formatTime(ban.untilMs), level: ban.level },
});

/** Of a window in which nothing was used there is nothing to reset. */
const rowOf = (window: string, { limit, remaining, resetAtMs }: WindowStatus, used = 0) => ({
  window,
  limit,
  used,
  remaining,
  reset: used === 0 ? null : new Date(resetAtMs),
});
