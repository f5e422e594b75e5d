import { StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';

/** System errors of a connection that cannot be made, or broke. */
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

/** What a server undid because of another transaction, and carries out when it is tried again, most likely. */
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
  '26000', // the prepared statement is gone: the connection was changed under us, and is replaced
  '42P05', // the prepared statement is there twice: likewise
]);

/** pg reports these failures of a connection by message only. */
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

/** Whether the server has undone a statement because of another transaction: then the same may be tried again. */
export function isConflict(error: unknown): boolean {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof pg.DatabaseError && (CONFLICTS.includes(cause.code ?? '') || cause.constraint === KEY_TAKEN);
}

/** The SQLSTATE or system code of an error, or of what caused it. */
export function codeOf(error: unknown): string | undefined {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

/**
 * Converts an error to {@link StorageUnavailableError} if PostgreSQL could not be reached or cannot work at the moment;
 * returns any other error unchanged. A connection that cannot be opened is unavailability whatever the reason, a wrong
 * password included: the pool and the watch say so where they open one.
 */
export function toStorageError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(`PostgreSQL failed: ${String(error)}`);
  if (error instanceof StorageUnavailableError || !isUnavailable(error)) return error;
  return storageUnavailable(error);
}

/** PostgreSQL accepts connections or has accepted some, and says nothing. */
export const HUNG = new StorageUnavailableError('PostgreSQL is hung (no response)');

/** A caller has waited for as long as callers wait. */
export const TOO_LATE = new StorageUnavailableError('PostgreSQL is not available: it did not respond in time');

/** No server takes writes, and the work needs one that does. */
export const READ_ONLY = new StorageUnavailableError('PostgreSQL is not available: it is read-only');

/** Whether a server is hung, of all that could not be used. */
export const isHung = (error: unknown): boolean => reasonsOf(error).includes(HUNG);

/** Whether a server has no room for another connection, of all that could not be used. */
export const saysNoRoom = (error: unknown): boolean =>
  reasonsOf(error).some((reason) => codeOf(reason) === TOO_MANY_CONNECTIONS);

/** Why no server could be used: one reason for each. */
function reasonsOf(error: unknown): readonly unknown[] {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof AggregateError ? cause.errors.flatMap(reasonsOf) : [cause ?? error];
}

/** Says that PostgreSQL is away, and why. */
export function storageUnavailable(cause: unknown): StorageUnavailableError {
  if (cause instanceof StorageUnavailableError) return cause;
  return new StorageUnavailableError(`PostgreSQL is not available: ${reasonOf(cause)}`, { cause });
}

/** Node gathers the refusals of all of a host's addresses in an AggregateError, whose own message is empty. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(reasonOf).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}

/** Runs what sends its statements by itself, and translates its failures: see {@link toStorageError}. */
export async function translatingErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error);
  }
}
