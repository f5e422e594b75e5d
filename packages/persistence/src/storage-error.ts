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

/** SQLSTATE classes that report the server's state, not of the statement: connection, resources, operator, system. */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58']);

/** What a server undid because of another transaction, and carries out when it is tried again, most likely. */
const CONFLICTS = ['40001', '40P01'];

const UNAVAILABLE_STATES = new Set([
  ...CONFLICTS,
  '25006', // read-only: a standby, or a failover in progress
  '55P03', // another session holds the lock
  '42P01', // no such table: nothing has been migrated yet
  '26000', // the prepared statement is gone: the connection was changed under us, and is replaced
  '42P05', // the prepared statement is there twice: likewise
]);

/** What pg says, in no other form than words, when a connection is lost, closed or not made in time. */
const CONNECTION_MESSAGES =
  /^(?:Connection terminated|timeout expired|timeout exceeded when trying to connect|Query read timeout|Cannot use a pool after calling end|Client (?:has encountered a connection error|was closed))|SSL connection/;

function isUnavailable(error: Error): boolean {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CONNECTION_ERRNOS.has(code) || UNAVAILABLE_STATES.has(code)) return true;
  if (code.length === 5 && UNAVAILABLE_CLASSES.has(code.slice(0, 2))) return true;
  return CONNECTION_MESSAGES.test(error.message);
}

/** With these the session ends, or its end is at hand: what became of the statement is not known. */
const SESSION_LOST = /^(?:08|40003|57P|25P0[34])/;

/**
 * Whether the server has given one statement up, undone all of it, and goes on with the next: then the same may be tried
 * again in smaller parts.
 */
export function isRolledBack(error: unknown): boolean {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code !== undefined && !SESSION_LOST.test(cause.code);
}

/** Another call with the same idempotency key was first. Tried again, this one finds what is remembered of it. */
const KEY_TAKEN = 'idempotency_keys_pkey';

/** Whether the server has undone a statement because of another transaction: then the same may be tried again. */
export function isConflict(error: unknown): boolean {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof pg.DatabaseError && (CONFLICTS.includes(cause.code ?? '') || cause.constraint === KEY_TAKEN);
}

/** Whether the server has given the statement up because it took too long. */
export const isTimedOut = (error: unknown): boolean => {
  const cause = error instanceof StorageUnavailableError ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code === '57014';
};

/**
 * Turns whatever a driver threw into what the ports promise: a {@link StorageUnavailableError} where PostgreSQL could
 * not be reached or cannot work at the moment, the error itself in all other cases.
 */
export function toStorageError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(`PostgreSQL failed: ${String(error)}`);
  if (error instanceof StorageUnavailableError || !isUnavailable(error)) return error;
  return storageUnavailable(error);
}

/** Says that PostgreSQL is away, and why. */
export function storageUnavailable(cause: unknown): StorageUnavailableError {
  return new StorageUnavailableError(`PostgreSQL is not available: ${reasonOf(cause)}`, { cause });
}

/** Node gathers the refusals of all of a host's addresses in an AggregateError, whose own message is empty. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(reasonOf).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}

/** Runs what uses the ORM, and translates its failures. */
export async function translatingErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error);
  }
}
