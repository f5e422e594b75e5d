import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiKeyId, type Clock, SERVICE_ACTOR, StorageUnavailableError } from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';
import type { Logger } from 'pino';

/** How often, in milliseconds, and how many times a ban is tried again: for an hour. */
const RETRY_EVERY_MS = 10_000;
const RETRIES_MAX = 360;
/** How many bans may wait for PostgreSQL; further ones are tried once. */
const WAITING_MAX = 1_000;

interface BanRecorderOptions {
  readonly audit: Pick<Persistence['audit'], 'recordBan'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** @default 10 s */
  readonly retryEveryMs?: number;
}

/**
 * Makes a function that records in the audit that a key was banned now. While PostgreSQL is unavailable, when callers are
 * most likely to send too much, the ban waits for it. A ban that cannot be recorded, or not before the end of the process,
 * is an error in the log. If PostgreSQL becomes unavailable while it commits, a ban may be recorded twice, with one time.
 */
export function createBanRecorder(
  { audit, clock, logger, retryEveryMs = RETRY_EVERY_MS }: BanRecorderOptions,
  resources: AsyncDisposableStack,
): (keyId: ApiKeyId) => void {
  const ending = new AbortController();
  resources.defer(() => ending.abort());
  let waiting = 0;
  const record = async (ban: Parameters<typeof audit.recordBan>[0], retriesMax: number): Promise<void> => {
    for (let retries = 0; ; retries++) {
      try {
        return await audit.recordBan(ban);
      } catch (err) {
        if (!(err instanceof StorageUnavailableError) || retries === retriesMax) throw err;
        await sleep(retryEveryMs, undefined, { signal: ending.signal, ref: false }).catch(() => Promise.reject(err));
      }
    }
  };
  return (keyId) => {
    const ban = { action: 'ban.set', at: clock(), actor: SERVICE_ACTOR, keyId } as const;
    waiting++;
    record(ban, waiting > WAITING_MAX ? 0 : RETRIES_MAX)
      .catch((err: unknown) => logger.error({ err, keyId, at: ban.at }, 'a ban is missing in the audit'))
      .finally(() => waiting--);
  };
}
