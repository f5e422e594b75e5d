import { createPrivateKey, X509Certificate } from 'node:crypto';
import { parseIntoClientConfig } from 'pg-connection-string';
import { describeFileError } from '../errors.ts';
import { findIntendedName } from './misspelt-names.ts';

/** One URL for each server of the same database, in the order in which they are tried. */
export type DatabaseUrls = readonly [string, ...string[]];

/** The values of target_session_attrs that are accepted: with each of them, a server that takes writes is used. */
const TAKES_WRITES = new Set(['any', 'read-write', 'primary']);

/**
 * Parses the address of PostgreSQL as its own programs do:
 * - `postgres://user:password@host:5432/database`;
 * - `postgres://user:password@one:5432,two:5433/database?target_session_attrs=read-write` for several servers, or with
 *   `?host=one,two&port=5432,5433`;
 * - `postgres:///database?host=/run/postgresql` for the folder of a socket.
 *
 * @returns a URL with one host for each server, or `undefined` if the text is no such address
 */
export function parseDatabaseUrls(text: string): DatabaseUrls | undefined {
  const match = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#]*)((?:\/[^?#]*)?)((?:\?[^#]*)?)$/.exec(text);
  if (match === null) return undefined;
  const [, scheme, user, authority = '', path, query] = match;
  const parameters = new URLSearchParams(query);
  if (!TAKES_WRITES.has(parameters.get('target_session_attrs') ?? 'any')) return undefined;
  // Parameters override the part before the path, in which the slashes of a folder are escaped.
  const inFront = authority.split(',').map((place) => /^(.*?)(?::(\d*))?$/.exec(place) ?? []);
  const hosts = parameters.get('host')?.split(',') ?? inFront.map(([, host = '']) => host.replace(/%2f/gi, '/'));
  const portsInFront = parameters.has('host') ? [''] : inFront.map(([, , port = '']) => port);
  const ports = parameters.get('port')?.split(',') ?? portsInFront; // a single port applies to all hosts
  if (ports.length !== 1 && ports.length !== hosts.length) return undefined;
  for (const name of ['host', 'port', 'target_session_attrs']) parameters.delete(name);
  const urls = hosts.map((host, i) => {
    const port = ports[ports.length === 1 ? 0 : i] ?? '';
    if (!HOST.test(host) || (host === '' && hosts.length > 1) || /^0+$/.test(port)) return '';
    const isFolder = host.startsWith('/');
    const all = new URLSearchParams(isFolder ? [...parameters, ['host', host]] : parameters).toString();
    const place = isFolder || host === '' ? 'localhost' : host;
    return `${scheme}${user}${place}${port && `:${port}`}${path}${all && `?${all}`}`;
  });
  return urls.every((url) => URL.canParse(url)) ? (urls as readonly string[] as DatabaseUrls) : undefined; // one at least
}

/** A folder, an IPv6 address in brackets, a name or another address, or nothing. */
const HOST = /^(?:\/.*|\[[\da-f:.]+\]|[^/%?#@:[\]\s]*)$/i;

/**
 * How long to wait for a connection, as `connect_timeout` says. It binds commands; a server never waits so long.
 *
 * @returns milliseconds; `undefined` if the URL names no time
 */
export function connectTimeoutMs([url]: DatabaseUrls): number | undefined {
  const seconds = Number(new URL(url).searchParams.get('connect_timeout'));
  return seconds === 0 ? undefined : seconds * 1_000;
}

/** Without these, or with a misspelt one, connections would still be made, but not as intended. */
const PARAMETERS = [
  'connect_timeout',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'target_session_attrs',
  'uselibpqcompat',
];

/** Parameters of other programs that the driver passes over, although they decide which data is used and who is trusted. */
const IGNORED: Readonly<Record<string, string>> = {
  currentSchema: 'set the schema with options=-c%20search_path%3Dschema',
  dbname: 'name the database before the question mark',
  hostaddr: 'name the address as host',
  passfile: 'give the password in the URL',
  require_auth: 'remove it',
  search_path: 'set the schema with options=-c%20search_path%3Dschema',
  service: 'give the host, user and database in the URL',
  sslcrl: 'remove it',
  sslpassword: 'use a key without a passphrase as sslkey',
};

const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'];

const SSL_MODES = ['disable', 'verify-full', 'verify-ca', 'require', 'prefer', 'no-verify'];

const UNESCAPED = 'it contains an @ after the host; in a user or password / ? # must be written as %2F %3F %23';

const WRONG_ESCAPE =
  'it contains an invalid escape; a percent sign in a user, password or database must be written as %25';

/**
 * Finds errors in a URL before anything connects: in its escapes, its TLS parameters, and the files that these name.
 *
 * @param url a URL with one host
 * @returns a clause for a message, which contains no part of the URL except the path of a file
 */
export function findUrlProblem(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url);
  const names = [...searchParams.keys()];
  // A slash or a question mark in a password ends the part that names the host.
  if ([pathname, ...names].some((text) => text.includes('@'))) return UNESCAPED;
  if (/%(?![\da-f]{2})/i.test(url)) return WRONG_ESCAPE;
  const meant = names.map((name) => findIntendedName(name, PARAMETERS)).find(Boolean);
  if (meant !== undefined) return `a parameter is misspelt; it must be ${meant}`;
  const twice = PARAMETERS.find((name) => searchParams.getAll(name).length > 1);
  if (twice !== undefined) return `it has the parameter ${twice} twice; remove one of them`;
  const ignored = names.find((name) => Object.hasOwn(IGNORED, name));
  if (ignored !== undefined) return `its parameter ${ignored} has no effect; ${IGNORED[ignored]}`;
  if (!/^\d*$/.test(searchParams.get('connect_timeout') ?? '')) {
    return 'its connect_timeout must be a whole number of seconds';
  }
  return findTlsProblem(url, searchParams);
}

function findTlsProblem(url: string, parameters: URLSearchParams): string | undefined {
  const mode = parameters.get('sslmode');
  if (!SSL_MODES.includes(mode ?? 'disable')) return `its sslmode must be one of ${SSL_MODES.join(', ')}`;
  if (!['true', '1', '0'].includes(parameters.get('ssl') ?? '0')) {
    return 'its ssl must be true or 0; better is sslmode=verify-full, or sslmode=disable';
  }
  const files = SSL_FILES.filter((name) => parameters.has(name));
  if (mode === 'disable' && files.length > 0) return `it has sslmode=disable and ${files[0]}; remove one of them`;
  if (files.includes('sslcert') !== files.includes('sslkey')) return 'sslcert and sslkey must be set together';
  if (parameters.get('sslrootcert') === 'system') {
    return 'remove sslrootcert=system: by default, the root certificates of Node.js are trusted';
  }
  try {
    const { ssl } = parseIntoClientConfig(url); // reads the files
    if (typeof ssl !== 'object') return undefined;
    if (ssl.ca) new X509Certificate(String(ssl.ca));
    if (!ssl.cert || !ssl.key) return undefined;
    const own = new X509Certificate(String(ssl.cert));
    if (!own.checkPrivateKey(createPrivateKey(String(ssl.key)))) return 'its sslkey does not match its sslcert';
    if (own.validToDate.getTime() < Date.now()) return `its sslcert has expired (${own.validTo})`;
    return undefined;
  } catch (error) {
    if (error instanceof URIError) return WRONG_ESCAPE;
    if (!(error instanceof Error)) throw error;
    if ('path' in error) return `it names the file ${error.path}, which cannot be read: ${describeFileError(error)}`;
    return `its parameters for TLS cannot be used: ${describeFileError(error)}`;
  }
}
