import pg from 'pg';
import { toRfc3339 } from '../time-text.ts';
import { HUNG, storageUnavailable } from './errors.ts';
import { withDeadline } from './in-time.ts';
import { type ResponseTimeouts, TIMEOUTS_MS } from './timeouts.ts';

/** pg reads an `int8` as a text, and a time in another style than ISO as null, without an error. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [pg.types.builtins.INT8, BigInt],
  [pg.types.builtins.TIMESTAMPTZ, (text) => new Date(toRfc3339(text))],
]);

/** How the values of rows are read, by all but MikroORM. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) => PARSERS.get(oid) ?? pg.types.getTypeParser(oid, 'text'),
};

/** The configuration of every connection. The name of a host is resolved for each, so a new one follows a moved address. */
export const connectionConfig = (url: string, connectTimeoutMs: number): pg.ClientConfig => ({
  connectionString: url,
  fallback_application_name: 'petstore',
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: TIMEOUTS_MS.keepAlive,
  // Of the URL's parameter, pg knows nothing. It binds the login to the certificate if PostgreSQL offers it.
  enableChannelBinding: ['require', 'prefer'].includes(new URL(url).searchParams.get('channel_binding') ?? ''),
  types: TYPES,
});

/**
 * Opens a connection outside of the pool. If it is lost, the statement in progress fails.
 *
 * @throws StorageUnavailableError
 */
export async function openClient(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw storageUnavailable(error);
  });
  return client;
}

/** Ends a connection. Resolves when it has ended, or when it is left to a server that hangs: it keeps no process alive then. */
export async function endClient(client: pg.Client): Promise<void> {
  await withDeadline(client.end(), TIMEOUTS_MS.end, HUNG).catch(() => {
    (client as pg.Client & { unref(): void }).unref(); // the types of pg lack it
  });
}

/** Settings of a session by name, as in postgresql.conf, for a server's or a command's times. */
type SettingsOf = (timeouts: ResponseTimeouts) => Readonly<Record<string, string>>;

/**
 * The settings of every session, whatever the role's own settings are: times are parsed from their text, and the
 * conditional updates rely on READ COMMITTED. A transaction whose process stands still between two statements ends, and so
 * does the session of a machine that is gone: others wait for their locks. Over a socket, PostgreSQL ignores `tcp_*`.
 */
const everySession: SettingsOf = ({ silence }) => ({
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  default_transaction_isolation: 'read committed',
  idle_in_transaction_session_timeout: String(TIMEOUTS_MS.idleInTransaction),
  tcp_keepalives_idle: String(TIMEOUTS_MS.keepAlive / 1_000),
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: String(silence),
  transaction_timeout: '0',
});

/** Statements may take any time, but the session ends with a process that stands still between them: it may hold a lock. */
export const longSession: SettingsOf = ({ silence }) => ({
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: String(silence),
});

/**
 * Sessions of short statements. Plans must not depend on the size of a table when they were made, so each is the generic
 * plan, which uses an index. A statement ends before its caller gives up, and its wait for a lock before that.
 */
export const shortSession: SettingsOf = ({ statement, lock }) => ({
  statement_timeout: String(statement),
  lock_timeout: String(lock),
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
});

/** Leaves out what this version of PostgreSQL does not have: `transaction_timeout` before 17. */
const SET_SESSION = `
  select set_config(name, value, false) from unnest($1::text[], $2::text[]) as setting (name, value)
  where current_setting(name, true) is not null`;

/**
 * Sets the session settings that the statements rely on. It uses a statement, not options of the connection's start: some
 * poolers refuse those, and others drop them silently. It is one, because servers may be far away.
 *
 * @throws StorageUnavailableError after the time for a connection
 */
export async function setSession(
  client: pg.ClientBase,
  settingsOf: SettingsOf,
  timeouts: ResponseTimeouts,
): Promise<void> {
  const settings = { ...everySession(timeouts), ...settingsOf(timeouts) };
  const setting = client.query(SET_SESSION, [Object.keys(settings), Object.values(settings)]);
  await withDeadline(setting, timeouts.connect, HUNG);
}
