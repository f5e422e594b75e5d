import { INT64_MIN, int64After, type Pet, type PetRepository } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { prepareStatement } from '../database/statement.ts';
import {
  copyCell,
  type ImportOptions,
  type ImportResult,
  type ImportSource,
  type ImportTarget,
  importRows,
} from '../import-rows.ts';
import type { Row } from '../schema/rows.ts';
import type { UnitsOfWork } from '../schema/units-of-work.ts';

export interface PetStore extends PetRepository {
  /** It may take seconds. */
  countPets(): Promise<number>;
  /** Works like `OrderStore.importOrders`. */
  importPets(pets: ImportSource<Pet>, options?: ImportOptions): Promise<ImportResult>;
  /** All pets that were there when the list began, in batches, ascending by id. Nothing is held between two batches. */
  listPets(): AsyncIterable<readonly Pet[]>;
}

const BATCH = 10_000;

const LIST_PETS = prepareStatement<Row<'pets'>>(
  'list-pets',
  `select id, name from pets where id >= $1 order by id limit ${BATCH}`,
);

/** Nothing else inserts pets, so imports only have to take turns. */
const IMPORT: ImportTarget<Pet> = {
  table: 'pets',
  createStaged: 'create temporary table staged as select 0 as line, id, name from pets with no data',
  rowOf: ({ id, name }) => `${id}\t${copyCell(name)}`,
  lock: 'pets',
  async insertStaged(client) {
    const { rowCount } = await client.query('insert into pets (id, name) select id, name from staged order by id');
    return rowCount ?? 0;
  },
};

/** The pet catalogue. */
export const createPetStore = (database: Database, units: UnitsOfWork): PetStore => ({
  async findPet(id) {
    const pet = await units.read((em, { PetEntity }) => em.findOne(PetEntity, id));
    return pet === null ? undefined : { id: pet.id, name: pet.name };
  },
  countPets: () =>
    database.withLongSession(async (client) => {
      const { rows } = await client.query<{ count: bigint }>('select count(*) from pets');
      return Number(rows[0]?.count);
    }),
  importPets: (pets, options) => importRows(database, IMPORT, pets, options),
  async *listPets() {
    for (let fromId: bigint | undefined = INT64_MIN; fromId !== undefined; ) {
      const rows: readonly Row<'pets'>[] = await database.run('long', LIST_PETS, [fromId.toString()]);
      if (rows.length > 0) yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) return;
      fromId = int64After(last.id);
    }
  },
});
