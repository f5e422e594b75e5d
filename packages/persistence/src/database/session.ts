import pg from 'pg';
import { storageUnavailable } from './storage-error.ts';

/** Settings of a session by name, as in postgresql.conf. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * What every session is set to, whatever the role's own settings say: the text of times is parsed, and the conditional
 * updates count on READ COMMITTED. `lock_timeout` is off unless the session sets one.
 */
const EVERY_SESSION = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  default_transaction_isolation: 'read committed',
  lock_timeout: '0',
} as const satisfies SessionSettings;

/** Statements may take any time, and so may the pauses between them. */
export const LONG_SESSION = {
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
} as const satisfies SessionSettings;

/**
 * Sessions of short statements. No plan may depend on how large a table was when the plan was made, so each is the generic
 * one that uses an index. A statement ends before its caller gives up, whatever it waits for.
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

/** The oldest PostgreSQL that the schema and the statements work with, as `server_version_num` has it. */
const OLDEST_VERSION = 150_000;

/**
 * The encodings of a database that hold every text. SQL_ASCII converts nothing: what was written as UTF-8 is read as the
 * same bytes.
 */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII']);

/** The pattern `transaction_read_only` lets a proxy that spreads reads send this statement to the primary. */
const READ_FACTS = `select current_setting('transaction_read_only'),
  current_setting('server_version_num'), current_setting('server_version'), current_setting('server_encoding')`;

/**
 * Makes sure that the server can be worked with.
 *
 * @returns whether it takes no writes, because it is a standby or for another reason
 * @throws StorageUnavailableError if it is too old, or the database cannot hold every text
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

/** Set together with the others, and read to see where they took effect. */
const MARK = { 'petstore.session': 'set' } as const satisfies SessionSettings;

const READ_MARK = `select current_setting('petstore.session', true)`;

/**
 * Sets a session to what the statements count on. By statements and not by the options of the connection's start: some
 * poolers refuse those, and others drop them silently. All at once, for the sake of servers far away.
 *
 * A pooler that spreads reads (Pgpool-II) passes several statements at once on to the primary alone, and a `set` that
 * comes by itself to every server. So a session that reads elsewhere is set again, one by one.
 */
export async function setSession(client: pg.ClientBase, settings: SessionSettings): Promise<void> {
  const all = Object.entries({ ...EVERY_SESSION, ...settings, ...MARK });
  const statements = all.map(([name, value]) => `set ${name} = ${pg.escapeLiteral(value)}`);
  await client.query(statements.join('; '));
  const { rows } = await client.query<[string | null]>({ text: READ_MARK, rowMode: 'array' });
  if (rows[0]?.[0] === MARK['petstore.session']) return;
  for (const statement of statements) await client.query(statement);
}

/** How often the check of both connections is repeated. Other callers of a pooler might otherwise hide what it does. */
const ROUNDS = 3;

/**
 * Makes sure that a connection through a pooler keeps its session. If it does not, each statement may get to another
 * process of the server, with other settings and other prepared statements.
 *
 * @param other a second connection, opened in the same way
 * @throws StorageUnavailableError if the pooler lends a session for a transaction only
 */
export async function assertSessionStays(client: pg.ClientBase, other: pg.ClientBase): Promise<void> {
  const own = new Set<number>();
  const others = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    // Twice each, as a pooler may lend its sessions in turn or the last one first.
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
