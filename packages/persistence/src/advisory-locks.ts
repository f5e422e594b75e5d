import type pg from 'pg';

/** The advisory locks that this program takes in its database, each with the key by which PostgreSQL knows it. */
export const ADVISORY_LOCKS = {
  /** Held by the process that applies migrations. The number is "petstore" in ASCII. */
  migrations: '8099007544119226981',
  /** Held by an import or a generation of orders while it draws ids, moves their sequence and inserts. */
  orderIds: '8099007544119226982',
  /** Held by an import of pets while it inserts. */
  pets: '8099007544119226983',
} as const;

export type AdvisoryLock = keyof typeof ADVISORY_LOCKS;

/** Waits for a lock, and holds it until the transaction of this client ends. */
export async function holdLock(client: pg.Client, lock: AdvisoryLock): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1::bigint)', [ADVISORY_LOCKS[lock]]);
}
