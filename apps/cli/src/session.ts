import type { Persistence } from '@petstore/persistence';
import { type DatabaseUrls, openEmbeddedPostgres } from '@petstore/runtime';
import type { StorageSettings } from '@petstore/runtime/settings';
import type { Output } from './output.ts';

/** What a command works with, the same as a server with these settings. */
export interface Session extends AsyncDisposable {
  readonly settings: StorageSettings;
  readonly persistence: Persistence;
}

export interface SessionOptions {
  /** Whether an embedded database is made where there is none. @default false */
  readonly mayCreateDatabase?: boolean;
}

/** Of commands that begin with a database: those that put something into it. */
export const MAY_MAKE_DATABASE: SessionOptions = { mayCreateDatabase: true };

/**
 * Connects to the database of the settings: the embedded one is found where a server runs it, and run by us otherwise.
 *
 * @throws RuntimeError where there is none, and it may not be made
 */
export async function openSession(
  settings: StorageSettings,
  { mayCreateDatabase = false }: SessionOptions,
  output: Pick<Output, 'message'>,
): Promise<Session> {
  await using resources = new AsyncDisposableStack();
  let databaseUrl: string | DatabaseUrls | undefined = settings.databaseUrls;
  if (databaseUrl === undefined) {
    const embedded = await openEmbeddedPostgres(settings.dataFolder, {
      mayCreate: mayCreateDatabase,
      onCreate: () => output.message(`DATABASE_URL is not set: making a new database in ${settings.dataFolder}.`),
    });
    resources.defer(() => embedded.release());
    databaseUrl = embedded.url;
  }
  const { openPersistence } = await import('@petstore/persistence');
  const persistence = resources.use(openPersistence({ databaseUrl }));
  const owned = resources.move();
  return {
    settings,
    persistence,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
