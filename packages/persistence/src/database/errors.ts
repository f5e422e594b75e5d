import { StorageUnavailableError } from '@petstore/domain';

/** The SQLSTATEs that the package knows. */
export const SQLSTATE = {
  readOnly: '25006',
  conflict: '40001',
  deadlock: '40P01',
  uniqueViolation: '23505',
  permissionDenied: '42501',
  undefinedTable: '42P01',
  duplicateTable: '42P07',
  lockNotAvailable: '55P03',
  tooManyConnections: '53300',
} as const;

/**
 * What an error means by its SQLSTATE, or else by how that begins: its class is two characters. `unavailable`: PostgreSQL cannot
 * work at the moment, so the caller gets 503. `lost`: likewise, and the connection must not be used again, because the server
 * has ended it or it has lost its prepared statements. Any other error is a defect of ours.
 */
const MEANINGS: Readonly<Record<string, 'unavailable' | 'lost'>> = {
  '08': 'unavailable', // connections
  '0A000': 'lost', // a prepared statement is out of date, as after a migration
  [SQLSTATE.readOnly]: 'lost', // the server is a standby, perhaps since a moment ago
  '25P03': 'lost', // an idle transaction was ended
  '25P04': 'lost', // a transaction took too long
  '26000': 'lost', // a prepared statement is gone
  [SQLSTATE.conflict]: 'unavailable',
  [SQLSTATE.deadlock]: 'unavailable',
  [SQLSTATE.undefinedTable]: 'unavailable', // the schema is missing
  '42P05': 'lost', // a prepared statement exists already
  '53': 'unavailable', // resources
  [SQLSTATE.lockNotAvailable]: 'unavailable',
  '57': 'unavailable', // an operator, or a timeout
  '57P': 'lost', // the server shuts down, starts, has crashed or dropped the database, or the session was idle for too long
  '58': 'unavailable', // the system
};

const meaningOf = (code: string) => MEANINGS[code] ?? MEANINGS[code.slice(0, 3)] ?? MEANINGS[code.slice(0, 2)];

/** Whether a connection must not be used again after an error. Only an error that PostgreSQL reports can leave it intact. */
export function endsConnection(error: unknown): boolean {
  const report = reportOf(error);
  return report === undefined || meaningOf(report.code) === 'lost';
}

/** PostgreSQL accepts or has accepted connections, but sends no response. */
export const HUNG = new StorageUnavailableError('PostgreSQL is hung (not responding)');

/** A caller has waited for the maximum time. */
export const TOO_LATE = new StorageUnavailableError('PostgreSQL is not available: it did not respond in time');

export const READ_ONLY = new StorageUnavailableError(
  'PostgreSQL is read-only (it is a standby, or was made read-only)',
);

/** Converts any error of a connection to the error for PostgreSQL being unavailable. */
export function storageUnavailable(cause: unknown): StorageUnavailableError {
  if (cause instanceof StorageUnavailableError) return cause;
  return new StorageUnavailableError(`PostgreSQL is not available: ${messageOf(cause)}`, { cause });
}

/** An error that PostgreSQL reports. */
interface Report extends Error {
  readonly code: string;
  readonly constraint?: string;
}

/**
 * PostgreSQL's report, if an error, or its cause, is one. MikroORM wraps it and keeps its properties; codes of the system
 * have no digit.
 */
export function reportOf(error: unknown): Report | undefined {
  const cause = causeOf(error);
  const isReport = cause instanceof Error && /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(cause) ?? '');
  return isReport ? (cause as Report) : undefined;
}

/** The primary keys whose ids a sequence generates: their violation is no fault of the caller or of the statement. */
const DRAWN_IDS = /^(orders|order_events|key_events)_pkey$/;

/**
 * Converts an error of work on a connection. What PostgreSQL reports is judged by its SQLSTATE. Any other error is the
 * connection's if the connection was lost; otherwise it is a defect, or an error of the source of an import.
 */
export function toStorageError(error: unknown, isConnectionLost: boolean): unknown {
  const report = reportOf(error);
  const [, table] = DRAWN_IDS.exec(report?.constraint ?? '') ?? [];
  if (table !== undefined) {
    return new StorageUnavailableError(
      `the sequence ${table}_id_seq generates ids that are in use, as after rows were copied into its table: run "petstore migrate"`,
    );
  }
  const isUnavailable = report === undefined ? isConnectionLost : meaningOf(report.code) !== undefined;
  return isUnavailable ? storageUnavailable(error) : error;
}

/** Whether the server has undone a statement because of another transaction. It may be tried again. */
export function isConflict(error: unknown): boolean {
  const { code, constraint } = reportOf(error) ?? {};
  const isUndone = code === SQLSTATE.conflict || code === SQLSTATE.deadlock;
  return isUndone || constraint === 'idempotency_keys_pkey'; // a call with the same key won; a retry returns its order
}

/** The SQLSTATE or system code of an error, or of its cause. */
export function codeOf(error: unknown): string | undefined {
  const cause = causeOf(error);
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

/** Whether there was no answer in time: by an error of ours, of pg, or of the system. */
export function isHung(error: unknown): boolean {
  const cause = causeOf(error);
  if (cause === HUNG || codeOf(cause) === 'ETIMEDOUT') return true;
  return cause instanceof Error && reportOf(cause) === undefined && /timeout/.test(cause.message);
}

/** The error of the connection that made PostgreSQL unavailable, or the error itself. */
export const causeOf = (error: unknown): unknown =>
  error instanceof StorageUnavailableError && error.cause instanceof Error ? error.cause : error;

/** Node collects the refusals of all addresses of a host in an AggregateError, whose own message is empty. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(messageOf).join('; ');
  const message = cause instanceof Error ? cause.message : String(cause);
  return /^SASL: .*client password must be a/.test(message) ? 'it requires a password, and none was given' : message;
}
