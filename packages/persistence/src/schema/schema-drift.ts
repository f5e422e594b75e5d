import type { Database } from '../database/database.ts';
import { TIMEOUTS_MS } from '../database/timeouts.ts';
import { TABLE_NAMES, withOrm } from './orm.ts';

/**
 * Compares the tables of a database with the entities. It does not compare other tables, primary keys, the validity of
 * indexes, or rights.
 *
 * @param schema the schema of the tables
 * @returns the SQL statements that would correct the tables, each on one line; if the role does not own the tables, a
 *   comment that says so
 */
export const findSchemaDrift = (database: Database, schema: string): Promise<readonly string[]> =>
  withOrm(database, { statementTimeoutMs: TIMEOUTS_MS.drift, schema }, async (orm) => {
    const ofOthers = await orm.em.execute(
      `select from pg_tables
       where schemaname = ? and tablename in (?) and not pg_has_role(tableowner, 'usage')`,
      [schema, TABLE_NAMES],
    );
    if (ofOthers.length > 0) return ['-- only the owner of the tables can see all of them: compare them as that role'];
    const sql = await orm.schema.getUpdateSchemaSQL({ wrap: false, dropTables: false });
    const statements = sql.split(/;\s*\n/).map((statement) => statement.trim().replaceAll(/\s+/g, ' '));
    return statements.filter((statement) => statement !== '').map((statement) => `${statement};`);
  });
