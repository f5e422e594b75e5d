import { hash } from 'node:crypto';
import {
  type Compilable,
  DummyDriver,
  type Expression,
  expressionBuilder,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { Database } from '../database/database.ts';
import type { Purpose } from '../database/pool.ts';
import { type PreparedStatement, prepareStatement, type StatementValue } from '../database/statement.ts';
import type { Tables } from './rows.ts';

/** MikroORM's query builder on the entities' tables. It only builds: the pool runs what it has built. */
const tables = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** The parameters of a query, as expressions: their values are not known when it is built. */
type Parameters = Readonly<Record<string, Expression<unknown> | undefined>>;

type ValuesOf<Of extends Parameters> = {
  readonly [Name in keyof Of]:
    | (Of[Name] extends Expression<infer Value> | undefined ? Value : never)
    | Extract<Of[Name], undefined>;
};

/** Stands for the value of a parameter. */
class Place {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

interface Shape<Row extends object> {
  readonly statement: PreparedStatement<Row>;
  /** The values of the statement in their order: places of parameters, and constants. */
  readonly values: readonly unknown[];
}

/**
 * A query that is a list of conditions. It is built once for each combination of parameters that are given, and prepared
 * once by each connection, under its operation and a hash of its text.
 *
 * @param operation what it is for, as PostgreSQL shows it
 * @param build must select columns by name: a migration may add one, and a prepared `select *` then fails. A list of values is
 *   `= any(…)`, because `in` has another text for each length and none for an empty list.
 */
export function query<Of extends Parameters, Row extends object>(
  operation: string,
  build: (from: Kysely<Tables>, parameters: Of) => Compilable<Row>,
) {
  const shapes = new Map<string, Shape<Row>>();
  const shapeFor = (names: readonly string[]): Shape<Row> => {
    const { val } = expressionBuilder<Tables>();
    const places: Parameters = Object.fromEntries(names.map((name) => [name, val(new Place(name))]));
    const { sql, parameters } = build(tables, places as Of).compile(); // an expression for each that is given
    const name = `${operation}-${hash('sha256', sql).slice(0, 8)}`;
    return { statement: prepareStatement<Row>(name, sql), values: parameters };
  };
  return (database: Database, purpose: Purpose, values: ValuesOf<Of>): Promise<readonly Row[]> => {
    const given = new Map<string, unknown>(Object.entries(values).filter(([, value]) => value !== undefined));
    const names = [...given.keys()];
    const key = names.join();
    const shape = shapes.get(key) ?? shapeFor(names);
    shapes.set(key, shape);
    const parameters = shape.values.map((value) => toText(value instanceof Place ? given.get(value.name) : value));
    return database.run(purpose, shape.statement, parameters);
  };
}

/** A value as a text that PostgreSQL parses. */
function toText(value: unknown): StatementValue {
  if (value === null || Buffer.isBuffer(value)) return value;
  if (Array.isArray(value)) return value.map(String);
  return value instanceof Date ? value.toISOString() : String(value);
}
