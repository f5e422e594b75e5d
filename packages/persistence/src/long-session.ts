import type pg from 'pg';
import type { DatabaseServers } from './database/servers.ts';
import { LONG_SESSION } from './database/session.ts';
import { translatingErrors } from './database/storage-error.ts';

interface SessionNeeds {
  /** Whether a read-only server is refused with StorageUnavailableError. */
  readonly forWrites: boolean;
}

interface LongSession extends AsyncDisposable {
  readonly client: pg.Client;
}

/**
 * Opens a connection for work whose statements, and the pauses between them, may take any time. Disposing of it closes the
 * connection, which ends an open transaction, its cursors and its temporary tables.
 */
export async function openLongSession(servers: DatabaseServers, needs: SessionNeeds): Promise<LongSession> {
  const client = await servers.connect(LONG_SESSION, needs);
  return {
    client,
    // A lost connection is already closed; what was committed on it stays.
    [Symbol.asyncDispose]: () => client.end().catch(() => {}),
  };
}

/**
 * Runs work on a connection from {@link openLongSession}.
 *
 * @throws StorageUnavailableError, and any other error of the work
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

/** Commits the changes of the work, or rolls them back if it fails. */
export async function inTransaction<Value>(client: pg.Client, work: () => Promise<Value>): Promise<Value> {
  await client.query('begin');
  try {
    const value = await work();
    await client.query('commit');
    return value;
  } catch (error) {
    await client.query('rollback').catch(() => {}); // the first failure is the one to report
    throw error;
  }
}
