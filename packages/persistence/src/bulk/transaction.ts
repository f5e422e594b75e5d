import type pg from 'pg';
import type { DatabaseServers } from '../database/servers.ts';
import { LONG_SESSION } from '../database/session.ts';
import { toStorageError } from '../database/storage-error.ts';

/**
 * Runs work in a transaction on a connection of its own. What the source throws comes through as it is.
 *
 * @param afterRollback undoes what no transaction undoes, where the connection still stands
 */
export async function withTransaction<Value>(
  servers: DatabaseServers,
  work: (client: pg.Client) => Promise<{ readonly commit: boolean; readonly value: Value }>,
  afterRollback: () => Promise<void> = async () => {},
): Promise<Value> {
  const client = await connect(servers);
  let isCommitted = false;
  try {
    await client.query('begin');
    const { commit, value } = await work(client);
    if (commit) await client.query('commit');
    isCommitted = commit;
    return value;
  } catch (error) {
    throw toStorageError(error);
  } finally {
    if (!isCommitted)
      await client
        .query('rollback')
        .then(afterRollback)
        .catch(() => {}); // the failure that led here counts
    await client.end().catch(() => {}); // an open transaction ends with its connection
  }
}

/**
 * Opens a connection to the server that takes writes, on which a statement may take any time, and its source as well.
 *
 * @throws StorageUnavailableError
 */
export async function connect(servers: DatabaseServers): Promise<pg.Client> {
  return servers.connect(LONG_SESSION, { forWrites: true });
}
