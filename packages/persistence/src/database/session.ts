import pg from 'pg';
import { storageUnavailable } from './storage-error.ts';

/** Settings of a session by name, as in postgresql.conf. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * The settings of every session, whatever the role's own settings are: times are parsed from their text, and the
 * conditional updates rely on READ COMMITTED. `lock_timeout` is off unless the session sets one.
 */
const EVERY_SESSION = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  default_transaction_isolation: 'read committed',
  lock_timeout: '0',
} as const satisfies SessionSettings;

/** Statements, and the pauses between them, may take any time. */
export const LONG_SESSION = {
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
} as const satisfies SessionSettings;

/**
 * Sessions of short statements. Plans must not depend on the size of a table when they were made, so each is the generic
 * plan, which uses an index. A statement ends before its caller gives up, whatever it waits for.
 */
export const SHORT_SESSION = {
  statement_timeout: '2000',
  lock_timeout: '1000',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
} as const satisfies SessionSettings;

/** The oldest PostgreSQL that supports the schema and the statements, as a `server_version_num`. */
const OLDEST_VERSION = 150_000;

/**
 * The encodings of a database that can hold every text. SQL_ASCII converts nothing: UTF-8 is read back as it was written.
 */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII']);

const READ_FACTS = `select current_setting('transaction_read_only'),
  current_setting('server_version_num'), current_setting('server_version'), current_setting('server_encoding')`;

/**
 * Checks that the server is suitable.
 *
 * @returns whether it takes no writes, because it is a standby or for another reason
 * @throws StorageUnavailableError if the server is too old, or the database cannot hold every text
 */
export async function readIsReadOnly(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<[string, string, string, string]>({ text: READ_FACTS, rowMode: 'array' });
  const [[readOnly, versionNumber, version, encoding]] = rows as [(typeof rows)[number]]; // it always has one
  if (Number(versionNumber) < OLDEST_VERSION) {
    throw storageUnavailable(`version ${version} is too old; 15 or newer is needed`);
  }
  if (!ENCODINGS.has(encoding)) {
    throw storageUnavailable(
      `the encoding of the database is ${encoding}, which does not hold every text; UTF8 is needed (create database ... encoding 'UTF8')`,
    );
  }
  return readOnly === 'on';
}

/**
 * Sets the session settings that the statements rely on. It uses statements, not options of the connection's start: some
 * poolers refuse those, and others drop them silently. All are sent at once, because servers may be far away.
 */
export async function setSession(client: pg.ClientBase, settings: SessionSettings): Promise<void> {
  const all = Object.entries({ ...EVERY_SESSION, ...settings });
  await client.query(all.map(([name, value]) => `set ${name} = ${pg.escapeLiteral(value)}`).join('; '));
}

/** How often the check of both connections is repeated: other clients of a pooler might hide how it behaves. */
const ROUNDS = 3;

/**
 * Checks that a connection through a pooler keeps its session. If it does not, each statement may reach another process of
 * the server, with other settings and other prepared statements.
 *
 * @param other a second connection, opened in the same way
 * @throws StorageUnavailableError if the pooler lends a session for a transaction only
 */
export async function assertSessionStays(client: pg.ClientBase, other: pg.ClientBase): Promise<void> {
  const own = new Set<number>();
  const others = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    // Twice each, because a pooler may lend its sessions in turn, or the last one first.
    for (const [pids, each] of [
      [own, client],
      [own, client],
      [others, other],
      [others, other],
    ] as const) {
      const { rows } = await each.query<[number]>({ text: 'select pg_backend_pid()', rowMode: 'array' });
      for (const [pid] of rows) pids.add(pid);
    }
  }
  if (own.size === 1 && others.size === 1 && new Set([...own, ...others]).size === 2) return;
  throw storageUnavailable(
    'a pooler in transaction mode is in between, and does not keep the session of a connection; session mode is needed',
  );
}
