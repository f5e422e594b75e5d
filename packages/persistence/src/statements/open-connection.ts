import pg from 'pg';
import { connectionConfig } from '../connection-config.ts';
import { storageUnavailable } from '../storage-error.ts';

/**
 * Opens one connection of a pool, ready for statements.
 *
 * @param onLost called when the connection is lost or closed, the first time before it is ready
 * @throws StorageUnavailableError
 */
export type OpenConnection = (onLost: () => void) => Promise<pg.Client>;

/** Opens connections on which statements are sent without waiting for the results of those before. */
export function pipelinedConnectionsTo(databaseUrl: string, statementTimeoutMs: number): OpenConnection {
  return async (onLost) => {
    const client = new pg.Client({ ...connectionConfig(databaseUrl, statementTimeoutMs), pipeline: true });
    client.on('error', onLost);
    client.on('end', onLost);
    try {
      await client.connect();
    } catch (error) {
      throw storageUnavailable(error);
    }
    return client;
  };
}
