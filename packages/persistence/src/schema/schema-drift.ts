import { DatabaseSchema, type MikroORM, SchemaComparator, type TableDifference } from '@mikro-orm/postgresql';
import type { DatabaseServers } from '../database/servers.ts';
import { translatingErrors } from '../database/storage-error.ts';
import { createOrm } from './orm.ts';

/** Long enough for the system's tables of any database, short enough for a person. */
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Compares the tables of a database with the entities, and says in words where they differ. Tables of others, and rights,
 * are not compared.
 *
 * @throws StorageUnavailableError
 */
export async function findSchemaDrift(servers: DatabaseServers): Promise<readonly string[]> {
  const orm = await createOrm(servers, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  try {
    return await translatingErrors(() => compare(orm));
  } finally {
    await orm.close();
  }
}

async function compare(orm: MikroORM): Promise<readonly string[]> {
  const platform = orm.em.getPlatform();
  const wanted = orm.schema.getTargetSchema();
  const names = wanted.getTables().map(({ name }) => name);
  const ofOthers = await orm.em.execute(
    `select from pg_class
     where relname in (?) and relnamespace = current_schema()::regnamespace and not pg_has_role(relowner, 'usage')`,
    [names],
  );
  if (ofOthers.length > 0) return ['only the owner of the tables can see all of them: compare them as that role'];
  const found = await DatabaseSchema.create(orm.em.getConnection(), platform, orm.config);
  const { newTables, changedTables } = new SchemaComparator(platform).compare(found, wanted);
  const invalid = await orm.em.execute(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     where not i.indisvalid and t.relname in (?) and t.relnamespace = current_schema()::regnamespace`,
    [names],
  );
  return [
    ...Object.values(newTables).map(({ name }) => `there is no table ${name}`),
    ...Object.values(changedTables).flatMap(describeTable),
    ...invalid.map((row) => `the index ${row['name']} is not valid, so it is not used`),
  ];
}

function describeTable(difference: TableDifference): readonly string[] {
  const { name } = difference.toTable;
  const named = (parts: object, say: (part: string) => string): readonly string[] => Object.keys(parts).map(say);
  const parts = (what: string, added: object, changed: object, removed: object) => [
    ...named(added, (part) => `${name} lacks the ${what} ${part}`),
    ...named(changed, (part) => `the ${what} ${part} of ${name} is not what it should be`),
    ...named(removed, (part) => `${name} has the ${what} ${part}, which is not of this program`),
  ];
  const { renamedColumns, changedColumns, addedIndexes, addedTriggers } = difference;
  const changedIndexes = { ...difference.changedIndexes, ...difference.renamedIndexes };
  const { addedForeignKeys, changedForeignKeys, removedForeignKeys } = difference;
  return [
    ...parts('column', difference.addedColumns, {}, difference.removedColumns),
    ...Object.entries(renamedColumns).map(([found, column]) => `${name}.${column.name} is called ${found}`),
    ...Object.values(changedColumns).flatMap((column) => describeColumn(name, column)),
    ...parts('index', addedIndexes, changedIndexes, difference.removedIndexes),
    ...parts('check', difference.addedChecks, difference.changedChecks, difference.removedChecks),
    ...parts('foreign key', addedForeignKeys, changedForeignKeys, removedForeignKeys),
    ...parts('trigger', addedTriggers, difference.changedTriggers, difference.removedTriggers),
    ...(difference.changedRlsEnabled === undefined ? [] : [`${name} has row-level security, which hides rows`]),
    ...(difference.changedPartitioning === undefined ? [] : [`${name} is partitioned in another way`]),
  ];
}

function describeColumn(
  table: string,
  { column, fromColumn, changedProperties }: TableDifference['changedColumns'][string],
): readonly string[] {
  const name = `${table}.${column.name}`;
  const said: string[] = [];
  if (changedProperties.has('type')) said.push(`${name} is ${fromColumn.type}, not ${column.type}`);
  if (changedProperties.has('nullable')) {
    said.push(fromColumn.nullable === true ? `${name} may be null` : `${name} may not be null, as it should`);
  }
  if (changedProperties.has('default')) said.push(`${name} has the default ${fromColumn.default ?? 'null'}`);
  if (changedProperties.has('generated') || changedProperties.has('autoincrement')) {
    said.push(`${name} is not generated as it should be`);
  }
  // What is left is not in the database: MikroORM takes a check of certain values for an enumeration.
  const others = [...changedProperties].filter((property) => !KNOWN_PROPERTIES.has(property));
  return [...said, ...others.map((property) => `${name} has another ${property}`)];
}

const KNOWN_PROPERTIES = new Set(['type', 'nullable', 'default', 'generated', 'autoincrement', 'enumItems']);
