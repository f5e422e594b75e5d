import { type Pet, type PetRepository, petId } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import type { ImportOptions, ImportResult, ImportSource } from '../import-rows.ts';
import { withLongSession } from '../long-session.ts';
import { importPets } from './import-pets.ts';
import { listPets } from './list-pets.ts';

export interface PetStore extends PetRepository {
  /** It may take seconds. */
  countPets(): Promise<number>;
  /** Works like `OrderStore.importOrders`. */
  importPets(pets: ImportSource<Pet>, options?: ImportOptions): Promise<ImportResult>;
  /** All pets at one moment, in batches, ascending by id. */
  listPets(): AsyncIterable<readonly Pet[]>;
}

const FIND_PET = prepareStatement<readonly [id: string, name: string]>(
  'find-pet',
  'select id, name from pets where id = $1',
);

/** The pet catalogue on PostgreSQL, below the ORM: see `openPersistence`. */
export const createPetStore = (servers: DatabaseServers, reads: QuerySender): PetStore => ({
  async findPet(id) {
    const [row] = await reads.run(FIND_PET, [id.toString()]);
    return row && { id: petId(BigInt(row[0])), name: row[1] };
  },
  countPets: () =>
    withLongSession(servers, { forWrites: false }, async (client) => {
      const { rows } = await client.query<{ count: string }>('select count(*) from pets');
      return Number(rows[0]?.count);
    }),
  importPets: (pets, options) => importPets(servers, pets, options),
  listPets: () => listPets(servers),
});
