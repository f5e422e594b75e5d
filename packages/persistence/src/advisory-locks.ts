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

/** In words for an operator, who looks for it or ends it. Of another role, PostgreSQL may not tell the address. */
const FIND_HOLDER = `
  select format('process %s of PostgreSQL, for "%s" at %s, connected since %s', pid, application_name,
    coalesce(host(client_addr), 'a socket'), to_char(backend_start, 'YYYY-MM-DD"T"HH24:MI:SSOF')) as holder
  from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = $1::bigint`;

/** @returns the process that holds a lock; `undefined` if none does any more */
export async function findHolder(client: pg.Client, lock: AdvisoryLock): Promise<string | undefined> {
  const { rows } = await client.query<{ readonly holder: string }>(FIND_HOLDER, [ADVISORY_LOCKS[lock]]);
  return rows[0]?.holder;
}

/** Waits for a lock, and holds it until the transaction of this client ends. */
export async function holdLock(client: pg.Client, lock: AdvisoryLock): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1::bigint)', [ADVISORY_LOCKS[lock]]);
}
