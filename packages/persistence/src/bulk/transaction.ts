import pg from 'pg';
import { connectionConfig } from '../connection-config.ts';
import { storageUnavailable, toStorageError } from '../storage-error.ts';

/**
 * Runs work in a transaction on a connection of its own. What the source throws comes through as it is.
 *
 * @param afterRollback undoes what no transaction undoes, where the connection still stands
 */
export async function withTransaction<Value>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<{ readonly commit: boolean; readonly value: Value }>,
  afterRollback: () => Promise<void> = async () => {},
): Promise<Value> {
  const client = await connect(databaseUrl);
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
 * Opens a connection on which a statement may take any time.
 *
 * @throws StorageUnavailableError
 */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(connectionConfig(databaseUrl, 0));
  client.on('error', () => {}); // the pending query rejects, too
  try {
    await client.connect();
  } catch (error) {
    throw storageUnavailable(error);
  }
  return client;
}
