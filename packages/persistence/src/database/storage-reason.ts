import { StorageUnavailableError } from '@petstore/domain';
import { codeOf } from './storage-error.ts';

/** Phrases by the code of the error: of the system, of TLS, or an SQLSTATE. */
const PHRASES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'PostgreSQL is away (the connection is refused)',
  EACCES: 'PostgreSQL is away (this user may not use its socket)',
  EADDRNOTAVAIL: 'PostgreSQL is away (this machine has no free port or no such network)',
  EMFILE: 'PostgreSQL is away (this process may not open more files: raise ulimit -n)',
  ENOENT: 'PostgreSQL is away (its socket does not exist)',
  ENOTFOUND: 'PostgreSQL is away (the name of its host is not known)',
  EAI_AGAIN: 'PostgreSQL is away (the name of its host cannot be looked up)',
  EHOSTDOWN: 'PostgreSQL is away (its host cannot be reached)',
  EHOSTUNREACH: 'PostgreSQL is away (its host cannot be reached)',
  ENETDOWN: 'PostgreSQL is away (its network cannot be reached)',
  ENETUNREACH: 'PostgreSQL is away (its network cannot be reached)',
  ETIMEDOUT: 'PostgreSQL is hung (no response)',
  '28P01': 'PostgreSQL refuses the login (wrong password)',
  '28000': 'PostgreSQL refuses the login (the user, or what pg_hba.conf wants of the connection)',
  '3D000': 'PostgreSQL has no such database',
  '42501': 'PostgreSQL denies permission',
  '42P01': 'PostgreSQL lacks the schema (a table is missing)',
  '25006': 'PostgreSQL is read-only',
  '53200': 'PostgreSQL is out of memory',
  '53300': 'PostgreSQL has no room for another connection',
  '53100': 'PostgreSQL has no room on its disk',
  '53400': 'PostgreSQL has reached a limit of its configuration, such as temp_file_limit',
  '55000': 'PostgreSQL accepts no connections to this database',
  '57P01': 'PostgreSQL is away (it shuts down)',
  '57P02': 'PostgreSQL is away (it crashed)',
  '57P03': 'PostgreSQL is away (it starts or shuts down)',
  '57P04': 'PostgreSQL is away (the database was dropped)',
  '58030': 'PostgreSQL cannot read or write its disk',
};

/** Phrases for errors that pg reports only in words. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/timeout|did not respond/i, 'PostgreSQL is hung (no response)'],
  [/^Connection terminated|not queryable/, 'PostgreSQL is away (the connection was lost)'],
  [/read-only/, 'PostgreSQL is read-only'],
  [/password/i, 'PostgreSQL refuses the login (no password, or one that cannot be used)'],
  [/SSL/, 'PostgreSQL does not offer TLS, which the settings want'],
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
  // The errors of several servers, or of several addresses of one.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(describeStorageFailure))].join('; ');
  if (error instanceof StorageUnavailableError && error.cause instanceof Error)
    return describeStorageFailure(error.cause);
  if (error instanceof StorageUnavailableError) return error.message.replace(URL_LIKE, '***');
  if (!(error instanceof Error)) return 'PostgreSQL is away';
  const code = codeOf(error) ?? '';
  const known = PHRASES[code] ?? WORDS.find(([pattern]) => pattern.test(error.message))?.[1];
  if (known !== undefined) return known;
  if (CERTIFICATE_CODE.test(code)) return `PostgreSQL is not trusted (its certificate: ${code})`;
  return code === '' ? 'PostgreSQL is away' : `PostgreSQL is away (${code})`;
}
