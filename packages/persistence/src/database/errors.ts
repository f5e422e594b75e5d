import { StorageUnavailableError } from '@petstore/domain';

/** What an SQLSTATE means to the caller, for the connection, and in the words of the operator. */
interface Meaning {
  /** Whether PostgreSQL cannot work at the moment, rather than that the statement is wrong: the caller gets 503. */
  readonly isUnavailable?: true;
  /** Whether the connection must not be used again. */
  readonly endsConnection?: true;
  /** For the operator: why PostgreSQL cannot be used. */
  readonly phrase?: string;
}

/** The caller gets 503. */
const UNAVAILABLE = { isUnavailable: true } as const;
/** The same, and the server has ended the connection, or the connection has lost its prepared statements. */
const LOST = { isUnavailable: true, endsConnection: true } as const;

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

/** By SQLSTATE, or by its class, which is its first two characters. Any other one is a defect of ours. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '08': UNAVAILABLE, // connections
  '0A000': LOST, // a prepared statement is out of date, as after a migration
  [SQLSTATE.readOnly]: LOST, // the server is a standby, perhaps since a moment ago
  '25P03': LOST, // an idle transaction was ended
  '25P04': LOST, // a transaction took too long
  '26000': LOST, // a prepared statement is gone
  '28000': { phrase: 'PostgreSQL rejects the login (the user, or a rule of pg_hba.conf)' },
  '28P01': { phrase: 'PostgreSQL rejects the login (wrong password)' },
  '3D000': { phrase: 'PostgreSQL has no such database' },
  [SQLSTATE.conflict]: UNAVAILABLE,
  [SQLSTATE.deadlock]: UNAVAILABLE,
  [SQLSTATE.permissionDenied]: { phrase: 'PostgreSQL denies permission' },
  [SQLSTATE.undefinedTable]: { ...UNAVAILABLE, phrase: 'PostgreSQL lacks the schema (a table is missing)' },
  '42P05': LOST, // a prepared statement exists already
  '53': UNAVAILABLE, // resources
  '53100': { ...UNAVAILABLE, phrase: 'PostgreSQL is out of disk space' },
  '53200': { ...UNAVAILABLE, phrase: 'PostgreSQL is out of memory' },
  [SQLSTATE.tooManyConnections]: { ...UNAVAILABLE, phrase: 'PostgreSQL has too many connections' },
  '53400': {
    ...UNAVAILABLE,
    phrase: 'PostgreSQL has reached a limit of its configuration, such as temp_file_limit',
  },
  '55000': { phrase: 'PostgreSQL accepts no connections to this database' },
  [SQLSTATE.lockNotAvailable]: UNAVAILABLE,
  '57': UNAVAILABLE, // an operator, or a timeout
  '57P01': { ...LOST, phrase: 'PostgreSQL is unavailable (shutting down)' },
  '57P02': { ...LOST, phrase: 'PostgreSQL is unavailable (crashed)' },
  '57P03': { ...LOST, phrase: 'PostgreSQL is unavailable (starting up or shutting down)' },
  '57P04': { ...LOST, phrase: 'PostgreSQL is unavailable (the database was dropped)' },
  '57P05': LOST, // idle for too long
  '58': UNAVAILABLE, // the system
  '58030': { ...UNAVAILABLE, phrase: 'PostgreSQL cannot read or write its disk' },
};

const meaningOf = (code: string): Meaning => MEANINGS[code] ?? MEANINGS[code.slice(0, 2)] ?? {};

/** Whether a connection must not be used again after an error. Only an error that PostgreSQL reports can leave it intact. */
export function endsConnection(error: unknown): boolean {
  const report = reportOf(error);
  return report === undefined || meaningOf(report.code).endsConnection === true;
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
const DRAWN_IDS: Readonly<Record<string, string>> = {
  orders_pkey: 'orders_id_seq',
  order_events_pkey: 'order_events_id_seq',
  key_events_pkey: 'key_events_id_seq',
};

const BEHIND = 'generates ids that are in use, as after rows were copied into its table: run "petstore migrate"';

/**
 * Converts an error of work on a connection. What PostgreSQL reports is judged by its SQLSTATE. Any other error is the
 * connection's if the connection was lost; otherwise it is a defect, or an error of the source of an import.
 */
export function toStorageError(error: unknown, isConnectionLost: boolean): unknown {
  const report = reportOf(error);
  const sequence = DRAWN_IDS[report?.constraint ?? ''];
  if (sequence !== undefined) return new StorageUnavailableError(`the sequence ${sequence} ${BEHIND}`);
  const isUnavailable = report === undefined ? isConnectionLost : meaningOf(report.code).isUnavailable;
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

const causeOf = (error: unknown): unknown =>
  error instanceof StorageUnavailableError && error.cause instanceof Error ? error.cause : error;

/** Node collects the refusals of all addresses of a host in an AggregateError, whose own message is empty. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(messageOf).join('; ');
  const message = cause instanceof Error ? cause.message : String(cause);
  return /^SASL: .*client password must be a/.test(message) ? 'it requires a password, and none was given' : message;
}

/** @returns what PostgreSQL does not permit to its role, in one line; `undefined` if the error is not a denial */
export const describeDenial = (error: unknown): string | undefined =>
  error instanceof Error && codeOf(error) === SQLSTATE.permissionDenied
    ? `${error.message}; it needs a role like petstore_server (docs/operations.md, "Roles")`
    : undefined;

/** Phrases by the code of an error of the system. */
const SYSTEM_PHRASES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'PostgreSQL is unavailable (connection refused)',
  EACCES: 'PostgreSQL is unavailable (no permission to use its socket)',
  EADDRNOTAVAIL: 'PostgreSQL is unavailable (no free local port, or no such network)',
  EMFILE: 'PostgreSQL is unavailable (too many open files in this process: raise ulimit -n)',
  ENOENT: 'PostgreSQL is unavailable (its socket does not exist)',
  ENOTFOUND: 'PostgreSQL is unavailable (unknown host name)',
  EAI_AGAIN: 'PostgreSQL is unavailable (DNS lookup of its host name failed)',
  EHOSTDOWN: 'PostgreSQL is unavailable (host unreachable)',
  EHOSTUNREACH: 'PostgreSQL is unavailable (host unreachable)',
  ENETDOWN: 'PostgreSQL is unavailable (network unreachable)',
  ENETUNREACH: 'PostgreSQL is unavailable (network unreachable)',
  ETIMEDOUT: HUNG.message,
};

/** Phrases for errors that pg reports only in words. If a word changes, nothing but the phrase is less exact. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/timeout/, HUNG.message],
  [/^Connection terminated|not queryable/, 'PostgreSQL is unavailable (connection lost)'],
  [/password/i, 'PostgreSQL rejects the login (missing or unusable password)'],
  [/SSL/, 'PostgreSQL does not offer TLS, which the settings require'],
];

/** Codes of OpenSSL and Node for a certificate that is not accepted. They contain no secret. */
const CERTIFICATE_CODE = /^[A-Z_]*(?:CERT|SIGNATURE|ISSUER|TLS|SSL)[A-Z_]*$/;

/** A URL may hold a password. */
const URL_LIKE = /\b[a-z][a-z\d+.-]*:\/\/\S+/gi;

/**
 * Says in one phrase why PostgreSQL cannot be used, for its operator. Of messages that we have not written, only codes are
 * repeated: the messages may contain users and addresses.
 */
export function describeStorageFailure(error: unknown): string {
  const cause = causeOf(error);
  // The errors of several addresses of the host.
  if (cause instanceof AggregateError) return [...new Set(cause.errors.map(describeStorageFailure))].join('; ');
  if (cause instanceof StorageUnavailableError) return cause.message.replace(URL_LIKE, '***');
  if (!(cause instanceof Error)) return 'PostgreSQL is unavailable';
  const code = codeOf(cause) ?? '';
  const known =
    meaningOf(code).phrase ?? SYSTEM_PHRASES[code] ?? WORDS.find(([pattern]) => pattern.test(cause.message))?.[1];
  if (known !== undefined) return known;
  if (CERTIFICATE_CODE.test(code)) return `the certificate of PostgreSQL is not trusted (${code})`;
  return code === '' ? 'PostgreSQL is unavailable' : `PostgreSQL is unavailable (${code})`;
}
