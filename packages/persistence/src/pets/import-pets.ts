import type { Pet } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { copyText, type ImportOptions, type ImportResult, type ImportSource, importRows } from '../import-rows.ts';

const CREATE_STAGED = 'create temporary table staged as select 0 as line, id, name from pets with no data';

const DELETE_REFUSED = `
  with refused as (
    select line, numbered.id, pets.id is not null as is_in_use
    from (select line, id, row_number() over (partition by id order by line) as occurrence from staged) as numbered
      left join pets on pets.id = numbered.id
    where occurrence > 1 or pets.id is not null
  ), deleted as (
    delete from staged using refused where staged.line = refused.line
  )
  select line, id, is_in_use, (count(*) over ())::integer as refused_count from refused order by line limit 1000`;

/** See `PetStore.importPets`. Nothing else inserts pets, so imports only have to take turns. */
export const importPets = (
  servers: DatabaseServers,
  pets: ImportSource<Pet>,
  options?: ImportOptions,
): Promise<ImportResult> =>
  importRows(
    servers,
    {
      noun: 'a pet',
      createStaged: CREATE_STAGED,
      rowOf: ({ id, name }) => `${id}\t${copyText(name)}`,
      lock: 'pets',
      deleteRefused: DELETE_REFUSED,
      async insertStaged(client) {
        const { rowCount } = await client.query('insert into pets (id, name) select id, name from staged order by id');
        return rowCount ?? 0;
      },
    },
    pets,
    options,
  );
