import type { OrderStatus } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { LONG_SESSION } from '../database/session.ts';
import { toStorageError } from '../database/storage-error.ts';

/**
 * Counts on a connection of its own: of many rows it takes longer than a request may.
 *
 * @throws StorageUnavailableError
 */
export async function countRows(
  servers: DatabaseServers,
  table: 'orders' | 'pets',
  status?: OrderStatus,
): Promise<number> {
  try {
    const client = await servers.connect(LONG_SESSION, { forWrites: false });
    try {
      const where = status === undefined ? '' : ' where status = $1';
      const values = status === undefined ? [] : [status];
      const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}${where}`, values);
      return Number(rows[0]?.count);
    } finally {
      await client.end().catch(() => {}); // it only read
    }
  } catch (error) {
    throw toStorageError(error);
  }
}
