import type pg from 'pg';
import type { DatabaseServers } from './database/servers.ts';
import { LONG_SESSION } from './database/session.ts';
import { translatingErrors } from './database/storage-error.ts';

interface SessionNeeds {
  /** Whether a server that is read-only is refused with StorageUnavailableError. */
  readonly forWrites: boolean;
}

interface LongSession extends AsyncDisposable {
  readonly client: pg.Client;
}

/**
 * Opens a connection of its own for work whose statements, and the pauses between them, may take any time. Disposing of it
 * closes the connection, and with it ends an open transaction, its cursors and its temporary tables.
 */
export async function openLongSession(servers: DatabaseServers, needs: SessionNeeds): Promise<LongSession> {
  const client = await servers.connect(LONG_SESSION, needs);
  return {
    client,
    // A connection that was lost is closed: what was committed on it stays.
    [Symbol.asyncDispose]: () => client.end().catch(() => {}),
  };
}

/**
 * Runs work on a connection of its own, as {@link openLongSession} opens it.
 *
 * @throws StorageUnavailableError, and whatever else the work throws
 */
export const withLongSession = <Value>(
  servers: DatabaseServers,
  needs: SessionNeeds,
  work: (client: pg.Client) => Promise<Value>,
): Promise<Value> =>
  translatingErrors(async () => {
    await using session = await openLongSession(servers, needs);
    return await work(session.client);
  });

/** Commits what the work has done, or undoes it if the work fails. */
export async function inTransaction<Value>(client: pg.Client, work: () => Promise<Value>): Promise<Value> {
  await client.query('begin');
  try {
    const value = await work();
    await client.query('commit');
    return value;
  } catch (error) {
    await client.query('rollback').catch(() => {}); // the failure that led here counts
    throw error;
  }
}
