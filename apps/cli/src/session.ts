import type { Persistence } from '@petstore/persistence';
import { type DatabaseUrls, type Environment, openEmbeddedPostgres } from '@petstore/runtime';
import type { StorageSettings } from '@petstore/runtime/settings';
import { CommandError } from './errors.ts';
import type { Output } from './output.ts';

/** What a command works with, the same as a server with these settings. */
export interface Session {
  readonly settings: StorageSettings;
  readonly persistence: Persistence;
}

export interface SessionOptions {
  /** Whether an embedded database is made where there is none, as for commands that put something into it. @default false */
  readonly mayCreate?: boolean;
  /** Whether the database is used as it is, migrated or not. @default false */
  readonly isUnprepared?: boolean;
  /** Whether there has to be a Redis as well; if not, the database is not opened in vain. @default false */
  readonly needsRedis?: boolean;
}

/** What determines the database. */
export interface SessionPlace {
  readonly environment: Environment;
  /** What DATA_DIR is relative to. */
  readonly home: string;
  readonly output: Pick<Output, 'message'>;
}

/**
 * Runs work on the database of the settings: the embedded one is found where a server runs it, and run by us otherwise.
 *
 * @throws RuntimeError if there is none, and it may not be made
 * @throws CommandError if Redis is needed and not set
 */
export async function runOnSession<Value>(
  { environment, home, output }: SessionPlace,
  work: (session: Session) => Promise<Value>,
  { mayCreate = false, isUnprepared = false, needsRedis = false }: SessionOptions = {},
): Promise<Value> {
  const { readStorageSettings } = await import('@petstore/runtime/settings');
  const settings = readStorageSettings(environment, home);
  if (needsRedis) redisOf(settings);
  await import('./failures.ts'); // now: files may have been replaced by the time that a long command fails
  await using resources = new AsyncDisposableStack();
  let databaseUrl: string | DatabaseUrls | undefined = settings.databaseUrls;
  if (databaseUrl === undefined) {
    const embedded = await openEmbeddedPostgres(settings.dataFolder, {
      mayCreate,
      onCreate: () => output.message(`DATABASE_URL is not set: making a new database in ${settings.dataFolder}.`),
    });
    resources.defer(() => embedded.release());
    databaseUrl = embedded.url;
  }
  const { openPersistence } = await import('@petstore/persistence');
  const persistence = resources.use(openPersistence({ databaseUrl }));
  const { migrations } = persistence;
  if (!isUnprepared) await (settings.migrate ? migrations.migrate() : migrations.assertMigrated());
  return await work({ settings, persistence });
}

/** @throws CommandError if no limits are shared over Redis */
export function redisOf({ redis }: StorageSettings): NonNullable<StorageSettings['redis']> {
  if (redis !== undefined) return redis;
  throw new CommandError(
    'there is no Redis: the limits live in the memory of each server, where this command cannot see them. ' +
      'Set REDIS_URL, for the servers too',
  );
}
