import { StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';

/** System errors of a connection that cannot be made or that broke. */
const CONNECTION_ERRNOS = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** SQLSTATE classes that report a problem of the server, not of the statement: connection, resources, operator, system. */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58']);

/** Failures because of another transaction. The server will most likely succeed if the statement is tried again. */
const CONFLICTS = ['40001', '40P01'];

/** SQLSTATE `read_only_sql_transaction`: the server is a standby, or was made read-only. */
export const READ_ONLY_STATE = '25006';

/** SQLSTATE `too_many_connections`. */
export const TOO_MANY_CONNECTIONS = '53300';

const UNAVAILABLE_STATES = new Set([
  ...CONFLICTS,
  READ_ONLY_STATE, // read-only: a standby, or a failover in progress
  '55P03', // another session holds the lock
  '25P03', // the server ended an idle transaction
  '25P04', // the server ended a transaction that took too long
  '42P01', // no such table: nothing has been migrated yet
  '26000', // the prepared statement is gone: something changed the connection, which is replaced
  '42P05', // the prepared statement exists already: likewise
]);

/** Failures of a connection that pg reports only by message. */
const CONNECTION_MESSAGES =
  /^(?:Connection terminated|timeout expired|timeout exceeded when trying to connect|Query read timeout|Cannot use a pool after calling end|Client (?:has encountered a connection error|was closed))|SSL connection/;

function isUnavailable(error: Error): boolean {
  const code = codeOf(error) ?? '';
  if (CONNECTION_ERRNOS.has(code) || UNAVAILABLE_STATES.has(code)) return true;
  if (code.length === 5 && UNAVAILABLE_CLASSES.has(code.slice(0, 2))) return true;
  return CONNECTION_MESSAGES.test(error.message);
}

/** A violation means that a concurrent call with the same key won. A retry returns its order. */
const KEY_TAKEN = 'idempotency_keys_pkey';

/** Whether the server has undone a statement because of another transaction. The statement may then be tried again. */
export function isConflict(error: unknown): boolean {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof pg.DatabaseError && (CONFLICTS.includes(cause.code ?? '') || cause.constraint === KEY_TAKEN);
}

/** The SQLSTATE or system code of an error, or of its cause. */
export function codeOf(error: unknown): string | undefined {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

/**
 * Converts an error to {@link StorageUnavailableError} if PostgreSQL could not be reached or cannot work at the moment;
 * returns any other error unchanged. If a connection cannot be opened, PostgreSQL counts as unavailable for any reason,
 * including a wrong password: the pool and the watch, which open connections, report that themselves.
 */
export function toStorageError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(`PostgreSQL failed: ${String(error)}`);
  if (error instanceof StorageUnavailableError || !isUnavailable(error)) return error;
  return storageUnavailable(error);
}

/** PostgreSQL accepts or has accepted connections, but does not answer. */
export const HUNG = new StorageUnavailableError('PostgreSQL is hung (no response)');

/** A caller has waited for the maximum time. */
export const TOO_LATE = new StorageUnavailableError('PostgreSQL is not available: it did not respond in time');

/** No server takes writes, but the work needs one that does. */
export const READ_ONLY = new StorageUnavailableError('PostgreSQL is not available: it is read-only');

/** Whether at least one of the unusable servers is hung. */
export const isHung = (error: unknown): boolean => reasonsOf(error).includes(HUNG);

/** Whether at least one of the unusable servers has no room for another connection. */
export const saysNoRoom = (error: unknown): boolean =>
  reasonsOf(error).some((reason) => codeOf(reason) === TOO_MANY_CONNECTIONS);

/** Why no server could be used: one reason for each server. */
function reasonsOf(error: unknown): readonly unknown[] {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof AggregateError ? cause.errors.flatMap(reasonsOf) : [cause ?? error];
}

/** Makes the error for PostgreSQL being away, with the reason. */
export function storageUnavailable(cause: unknown): StorageUnavailableError {
  if (cause instanceof StorageUnavailableError) return cause;
  return new StorageUnavailableError(`PostgreSQL is not available: ${reasonOf(cause)}`, { cause });
}

/** Node collects the refusals of all addresses of a host in an AggregateError, whose own message is empty. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(reasonOf).join('; ');
  const message = cause instanceof Error ? cause.message : String(cause);
  return NO_PASSWORD.test(message) ? 'it asks for a password, and none is given' : message;
}

/** What pg says of a login by SCRAM without a password. */
const NO_PASSWORD = /^SASL: .*client password must be a/;

/** Runs work that sends its own statements, and converts its errors: see {@link toStorageError}. */
export async function translatingErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error);
  }
}
