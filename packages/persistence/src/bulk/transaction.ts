import type pg from 'pg';
import type { DatabaseServers } from '../database/servers.ts';
import { LONG_SESSION } from '../database/session.ts';

/**
 * Opens a connection to the server that takes writes, on which a statement may take any time, and its source as well.
 *
 * @throws StorageUnavailableError
 */
export async function connect(servers: DatabaseServers): Promise<pg.Client> {
  const client = await servers.connect(LONG_SESSION, { forWrites: true });
  return client;
}

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
