import type { Persistence } from '@petstore/persistence';
import { type DatabaseUrls, type Environment, findEmbeddedRedis, openEmbeddedPostgres } from '@petstore/runtime';
import type { StorageSettings } from '@petstore/runtime/settings';
import { CommandError } from './errors.ts';
import type { Output } from './output.ts';

/** The resources of a command, the same as those of a server with these settings. */
export interface Session {
  readonly settings: StorageSettings;
  readonly persistence: Persistence;
}

export interface SessionOptions {
  /** Whether an embedded database is created if there is none, for commands that add data. @default false */
  readonly mayCreate?: boolean;
  /** Whether the database is used without migrating it. @default false */
  readonly isUnprepared?: boolean;
  /** Whether Redis is needed as well; without Redis, the database is not opened in vain. @default false */
  readonly needsRedis?: boolean;
}

/** How long a command waits for a database that is far away or wakes, in milliseconds: it holds up no caller. */
const PATIENCE_MS = 10_000;

/** The facts that determine the database. */
export interface SessionPlace {
  readonly environment: Environment;
  /** The folder to which DATA_DIR is relative. */
  readonly home: string;
  readonly output: Pick<Output, 'message'>;
}

/**
 * Runs work on the database of the settings. An embedded database is shared with a server that runs it, or started.
 *
 * @throws RuntimeError if there is no database, and none may be created
 * @throws CommandError if Redis is needed and not set
 */
export async function runOnSession<Value>(
  { environment, home, output }: SessionPlace,
  work: (session: Session) => Promise<Value>,
  { mayCreate = false, isUnprepared = false, needsRedis = false }: SessionOptions = {},
): Promise<Value> {
  const { connectTimeoutMs, isProduction, readStorageSettings } = await import('@petstore/runtime/settings');
  const stored = readStorageSettings(environment, home);
  const mayBeEmbedded = stored.redis === undefined && !isProduction(environment); // as for a server
  const embeddedRedis = mayBeEmbedded ? await findEmbeddedRedis(stored.dataFolder, stored.databaseUrls) : undefined;
  const settings = { ...stored, redis: stored.redis ?? embeddedRedis };
  if (needsRedis) redisOf(settings);
  await import('./failures.ts'); // loaded now: the files may be replaced before a long command fails
  await using resources = new AsyncDisposableStack();
  let databaseUrl: string | DatabaseUrls | undefined = settings.databaseUrls;
  if (databaseUrl === undefined) {
    const embedded = await openEmbeddedPostgres(settings.dataFolder, {
      mayCreate,
      onCreate: () => output.message(`DATABASE_URL is not set: creating a database in ${settings.dataFolder}.`),
    });
    resources.defer(() => embedded.release());
    databaseUrl = embedded.url;
  }
  const { openPersistence } = await import('@petstore/persistence');
  const patienceMs = (settings.databaseUrls && connectTimeoutMs(settings.databaseUrls)) ?? PATIENCE_MS;
  const persistence = resources.use(openPersistence({ databaseUrl, patienceMs }));
  const { migrations, sequences } = persistence;
  if (!isUnprepared) {
    await (settings.migrate ? migrations.migrate() : migrations.assertMigrated());
    await sequences.align();
  }
  return await work({ settings, persistence });
}

/** @throws CommandError if no Redis shares the limits */
export function redisOf({ redis }: StorageSettings): NonNullable<StorageSettings['redis']> {
  if (redis !== undefined) return redis;
  throw new CommandError(
    'there is no Redis: limits are kept in the memory of each server, which this command cannot read. ' +
      'Set REDIS_URL, for the servers too; or, for a trial, start a server with these settings on a machine with redis-server',
  );
}
