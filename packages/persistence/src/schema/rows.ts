import type { InferKyselyDB } from '@mikro-orm/postgresql';
import type * as entities from './entities.ts';

// Only types are imported: nothing of the ORM is loaded.

/** The tables by name, with the columns of MikroORM's entities. */
export type Tables = InferKyselyDB<(typeof entities)[keyof typeof entities]>;

/** A row of a table as pg reads it: ids are `bigint`, times are `Date`, and what is missing is null. */
export type Row<Table extends keyof Tables> = Readonly<Tables[Table]>;
