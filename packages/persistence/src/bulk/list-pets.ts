import { type Pet, petId } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { LONG_SESSION } from '../database/session.ts';
import { toStorageError } from '../database/storage-error.ts';

const BATCH = 10_000;

/**
 * All pets of one moment, in batches, ascending by id.
 *
 * @throws StorageUnavailableError
 */
export async function* listPets(servers: DatabaseServers): AsyncGenerator<readonly Pet[]> {
  try {
    const client = await servers.connect(LONG_SESSION, { forWrites: false });
    try {
      await client.query('begin isolation level repeatable read, read only');
      await client.query('declare all_pets no scroll cursor for select id, name from pets order by id');
      for (;;) {
        const { rows } = await client.query<{ id: string; name: string }>(`fetch ${BATCH} from all_pets`);
        if (rows.length > 0) yield rows.map(({ id, name }) => ({ id: petId(BigInt(id)), name }));
        if (rows.length < BATCH) return;
      }
    } finally {
      await client.end().catch(() => {}); // it only read
    }
  } catch (error) {
    throw toStorageError(error);
  }
}
