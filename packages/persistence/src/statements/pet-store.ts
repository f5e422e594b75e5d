import { type Pet, type PetId, petId } from '@petstore/domain';
import { type ImportOptions, type ImportRecord, type ImportResult, importRows } from '../bulk/import-rows.ts';
import { PET_TARGET } from '../bulk/import-targets.ts';
import type { PetStore } from '../persistence.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';
import { prepareStatement, runStatement } from './prepared-statement.ts';

const FIND_PET = prepareStatement<readonly [id: string, name: string]>(
  'find-pet',
  'select id, name from pets where id = $1',
);

/** The pet catalogue on PostgreSQL, below the ORM: see `openPersistence`. */
export class PostgresPetStore implements PetStore {
  readonly #databaseUrl: string;
  readonly #reads: PipelinedConnections;

  constructor(databaseUrl: string, reads: PipelinedConnections) {
    this.#databaseUrl = databaseUrl;
    this.#reads = reads;
  }

  async findPet(id: PetId): Promise<Pet | undefined> {
    const [row] = await runStatement(this.#reads, FIND_PET, [id.toString()]);
    return row && { id: petId(BigInt(row[0])), name: row[1] };
  }

  importPets(pets: AsyncIterable<ImportRecord<Pet>>, options: ImportOptions = {}): Promise<ImportResult> {
    return importRows(this.#databaseUrl, PET_TARGET, pets, options);
  }
}
