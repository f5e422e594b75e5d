import { type Pet, petId } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { toStorageError } from '../database/storage-error.ts';
import { openLongSession } from '../long-session.ts';

const BATCH = 10_000;

/** See `PetStore.listPets`. */
export async function* listPets(servers: DatabaseServers): AsyncGenerator<readonly Pet[]> {
  try {
    await using session = await openLongSession(servers, { forWrites: false });
    const { client } = session;
    await client.query('begin isolation level repeatable read, read only');
    await client.query('declare all_pets no scroll cursor for select id, name from pets order by id');
    for (;;) {
      const { rows } = await client.query<{ id: string; name: string }>(`fetch ${BATCH} from all_pets`);
      if (rows.length > 0) yield rows.map(({ id, name }) => ({ id: petId(BigInt(id)), name }));
      if (rows.length < BATCH) return;
    }
  } catch (error) {
    throw toStorageError(error);
  }
}
