import { getSystemErrorMessage } from 'node:util';
import { StorageUnavailableError } from '@petstore/domain';
import { causeOf, codeOf, HUNG, isHung, SQLSTATE } from './database/errors.ts';

/** @returns what PostgreSQL does not permit to its role, in one line; `undefined` if the error is not a denial */
export const describeDenial = (error: unknown): string | undefined =>
  error instanceof Error && codeOf(error) === SQLSTATE.permissionDenied
    ? `${error.message}; it needs a role like petstore_server (docs/operations.md, "Roles")`
    : undefined;

/** Why PostgreSQL cannot be used, by its SQLSTATE. */
const PHRASES: Readonly<Record<string, string>> = {
  '28000': 'PostgreSQL rejects the login (the user, or a rule of pg_hba.conf)',
  '28P01': 'PostgreSQL rejects the login (wrong password)',
  '3D000': 'PostgreSQL has no such database',
  [SQLSTATE.permissionDenied]: 'PostgreSQL denies permission',
  [SQLSTATE.undefinedTable]: 'PostgreSQL lacks the schema (a table is missing)',
  '53100': 'PostgreSQL is out of disk space',
  '53200': 'PostgreSQL is out of memory',
  [SQLSTATE.tooManyConnections]: 'PostgreSQL has too many connections',
  '53400': 'PostgreSQL has reached a limit of its configuration, such as temp_file_limit',
  '55000': 'PostgreSQL accepts no connections to this database',
  '57P01': 'PostgreSQL is unavailable (shutting down)',
  '57P02': 'PostgreSQL is unavailable (crashed)',
  '57P03': 'PostgreSQL is unavailable (starting up or shutting down)',
  '57P04': 'PostgreSQL is unavailable (the database was dropped)',
  '58030': 'PostgreSQL cannot read or write its disk',
};

/** Phrases for errors that pg reports only in words. If a word changes, nothing but the phrase is less exact. */
const WORDS: readonly (readonly [RegExp, string])[] = [
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
  if (isHung(cause)) return HUNG.message;
  const code = codeOf(cause) ?? '';
  const known = PHRASES[code] ?? WORDS.find(([pattern]) => pattern.test(cause.message))?.[1];
  if (known !== undefined) return known;
  if (CERTIFICATE_CODE.test(code)) return `the certificate of PostgreSQL is not trusted (${code})`;
  // Node's words for an error of the system, as in "connection refused, ECONNREFUSED".
  const words = 'errno' in cause && typeof cause.errno === 'number' ? getSystemErrorMessage(cause.errno) : '';
  const details = [words, code].filter((detail) => detail !== '').join(', ');
  return details === '' ? 'PostgreSQL is unavailable' : `PostgreSQL is unavailable (${details})`;
}
