import { connectToAdministrate, type RateLimitAdministration, RedisUnavailableError } from '@petstore/rate-limit';
import { CommandFailure } from './failure.ts';
import type { Session } from './session.ts';

/**
 * Runs work on the limits that the servers of these settings share.
 *
 * @throws CommandFailure where there is no Redis, or none that answers
 */
export async function withLimits<Value>(
  session: Session,
  work: (limits: RateLimitAdministration) => Promise<Value>,
): Promise<Value> {
  const target = await session.findRedis();
  if (target === undefined) {
    throw new CommandFailure(
      'there is no Redis: the limits live in the memory of each server, where this command cannot see them. ' +
        'Set REDIS_URL, or install redis-server for a private one',
    );
  }
  try {
    await using limits = await connectToAdministrate(target);
    return await work(limits);
  } catch (error) {
    if (error instanceof RedisUnavailableError) throw new CommandFailure(error.message);
    throw error;
  }
}
