import { type Pet, type PetRepository, petId } from '@petstore/domain';
import { countRows } from '../bulk/count-rows.ts';
import { importPets } from '../bulk/import-pets.ts';
import type { ImportOptions, ImportResult, ImportSource } from '../bulk/import-rows.ts';
import { listPets } from '../bulk/list-pets.ts';
import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';

export interface PetStore extends PetRepository {
  /** @throws StorageUnavailableError */
  countPets(): Promise<number>;
  /** As `OrderStore.importOrders`. */
  importPets(pets: ImportSource<Pet>, options?: ImportOptions): Promise<ImportResult>;
  /**
   * All pets of one moment, in batches, ascending by id.
   *
   * @throws StorageUnavailableError
   */
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
  countPets: () => countRows(servers, 'pets'),
  importPets: (pets, options) => importPets(servers, pets, options),
  listPets: () => listPets(servers),
});
