import type { Persistence } from '@petstore/persistence';
import { type Environment, findEmbeddedPostgres, findEmbeddedRedis } from '@petstore/runtime';
import type { StorageSettings } from '@petstore/runtime/settings';
import { CommandError } from './errors.ts';

/** The resources of a command, the same as those of a server with these settings. */
export interface Session {
  readonly settings: StorageSettings;
  readonly persistence: Persistence;
  /** Says who migrates the database meanwhile. */
  readonly onWait: (holder: string) => void;
}

export interface SessionOptions {
  /** Whether the database is used without migrating it. @default false */
  readonly isUnprepared?: boolean;
  /** Whether Redis is needed as well; without Redis, the database is not opened in vain. @default false */
  readonly needsRedis?: boolean;
}

/** How long a command waits for a database that is far away or wakes, in milliseconds: it holds up no caller. */
const PATIENCE_MS = 10_000;

/** Servers do not wait for as long as `connect_timeout` says. */
function patienceMsOf(databaseUrl: string): number {
  const seconds = Number.parseInt(new URL(databaseUrl).searchParams.get('connect_timeout') ?? '', 10);
  return seconds > 0 ? seconds * 1_000 : PATIENCE_MS;
}

/** The facts that determine the database. */
export interface SessionPlace {
  readonly environment: Environment;
  /** The folder to which DATA_DIR is relative. */
  readonly home: string;
  /** Writes a message to the user. */
  readonly message: (text: string) => void;
}

/**
 * Runs work on the database of the settings, or without DATABASE_URL on that of the server that runs on the data folder.
 *
 * @throws RuntimeError if no server does
 * @throws CommandError if Redis is needed and not set
 */
export async function runOnSession<Value>(
  { environment, home, message }: SessionPlace,
  work: (session: Session) => Promise<Value>,
  { isUnprepared = false, needsRedis = false }: SessionOptions = {},
): Promise<Value> {
  const { readStorageSettings } = await import('@petstore/runtime/settings');
  const stored = readStorageSettings(environment, home);
  const { dataFolder } = stored;
  const databaseUrl = stored.databaseUrl ?? (await findEmbeddedPostgres(dataFolder));
  const embeddedRedis = stored.databaseUrl === undefined ? await findEmbeddedRedis(dataFolder) : undefined;
  const settings = { ...stored, redis: stored.redis ?? embeddedRedis };
  if (needsRedis) redisOf(settings);
  await import('./failures.ts'); // loaded now: the files may be replaced before a long command fails
  await using resources = new AsyncDisposableStack();
  const { openPersistence } = await import('@petstore/persistence');
  const persistence = resources.use(openPersistence({ databaseUrl, patienceMs: patienceMsOf(databaseUrl) }));
  const { migrations, sequences } = persistence;
  const onWait = (holder: string) => message(`Waiting for another process that migrates the database: ${holder}.`);
  if (!isUnprepared) {
    await (settings.migrate ? migrations.migrate(onWait) : migrations.assertMigrated());
    await sequences.align();
  }
  return await work({ settings, persistence, onWait });
}

/** @throws CommandError if no Redis shares the limits */
export function redisOf({ redis }: StorageSettings): NonNullable<StorageSettings['redis']> {
  if (redis !== undefined) return redis;
  throw new CommandError(
    'there is no Redis: limits are kept in the memory of each server, which this command cannot read. ' +
      'Set REDIS_URL, for the servers too; or, for a trial, start a server without DATABASE_URL on a machine with redis-server',
  );
}
