import { isIPv6 } from 'node:net';
import { type Environment, parseDurationMs } from '@petstore/runtime';
import {
  describeProblem,
  findStorageConflicts,
  isNamed,
  onOrOff,
  parsedBy,
  readVariables,
  STORAGE_VARIABLES,
  type StorageSettings,
  toStorageSettings,
} from '@petstore/runtime/settings';
import { z } from 'zod';

/** What the environment sets of the server. */
export interface Settings extends StorageSettings {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Whether other servers of this machine may listen on {@link port}, too. */
  readonly reusePort: boolean;
  /** Where health and metrics are served, whatever {@link host} is. */
  readonly adminHost: string;
  /** 0 takes a free one. */
  readonly adminPort: number;
  /** Ends in /v1. `undefined`: from the listener. */
  readonly publicBaseUrl?: string | undefined;
  /** Ends in /v1. */
  readonly stagingBaseUrl?: string | undefined;
  /** Where to report a weakness: a `mailto:` or `https:` URI. */
  readonly securityContact?: string | undefined;
  /** Where callers find help: a `mailto:` or `https:` URI. */
  readonly supportContact?: string | undefined;
  /** Where callers see whether the service works: an `https:` URL. */
  readonly statusPageUrl?: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: TrustProxy;
  /** How many servers share the limits while Redis is away. */
  readonly instances: number;
  /** How long the port stays open after a signal, while /readyz is 503. */
  readonly shutdownDelayMs: number;
  /** How long after a signal everything has ended, requests that take longer cut off. */
  readonly shutdownTimeoutMs: number;
  /** How long events can be read again. */
  readonly eventsRetentionMs: number;
  /** From then on deprecated operations are 410. */
  readonly petsSunsetAt: Date;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Whether the server prints its addresses for people to read, once it serves. */
  readonly showsBanner: boolean;
  /** At which level each request is a line of the log. */
  readonly accessLogLevel: 'info' | 'debug';
}

/** Which proxies' X-Forwarded-For to trust: none, all, the nearest so many, or those at these addresses. */
type TrustProxy = boolean | number | readonly string[];

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const LOG_FORMATS = ['pretty', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

const integer = (min: number, max: number) =>
  parsedBy((text) => (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined));

const ADDRESS_OR_NETWORK = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

const hostName = parsedBy(parseHost).prefault('127.0.0.1');

const baseUrl = parsedBy(parseBaseUrl).optional().describe('an http or https URL that ends in /v1');

/** A hundred years: a longer time ago may be before all years that PostgreSQL is given. */
const RETENTION_MAX_MS = 36_500 * 86_400_000;

const SHUTDOWN_MAX_MS = 3_600_000;

/** What a shutdown may take behind its delay, where SHUTDOWN_TIMEOUT says nothing. */
const SHUTDOWN_MS = 10_000;

const duration = (minMs: number, maxMs: number) =>
  parsedBy((text) => {
    const durationMs = parseDurationMs(text) ?? Number.NaN;
    return durationMs >= minMs && durationMs <= maxMs ? durationMs : undefined;
  });

const VARIABLES = {
  HOST: hostName.describe('a host name or an IP address to listen on, such as 127.0.0.1 or 0.0.0.0'),
  PORT: integer(0, 65_535).prefault('3000').describe('a port, 0 to 65535 (0 takes a free one)'),
  REUSE_PORT: onOrOff('off'),
  ADMIN_HOST: hostName.describe(
    'a host name or an IP address for health and metrics to listen on, such as 127.0.0.1 or 0.0.0.0',
  ),
  ADMIN_PORT: integer(0, 65_535).optional().describe('a port, 0 to 65535 (0 takes a free one), other than PORT'),
  ...STORAGE_VARIABLES,
  PUBLIC_BASE_URL: baseUrl,
  STAGING_BASE_URL: baseUrl,
  CORS_ORIGINS: parsedBy(parseOrigins)
    .prefault('')
    .describe('origins separated by commas, such as https://shop.example (no path, no slash at the end)'),
  TRUST_PROXY: parsedBy(parseTrustProxy)
    .prefault('off')
    .describe(
      'off, true (believe every proxy), the number of proxies in front (1 to 32), or addresses and networks ' +
        'separated by commas, such as 10.0.0.0/8',
    ),
  SECURITY_CONTACT: parsedBy(parseContact)
    .optional()
    .describe('where to report a weakness, such as mailto:security@shop.example or https://shop.example/security'),
  SUPPORT_CONTACT: parsedBy(parseContact)
    .optional()
    .describe('where callers find help, such as mailto:api@shop.example or https://shop.example/support'),
  STATUS_PAGE_URL: parsedBy((text) => (text.startsWith('https:') ? parseContact(text) : undefined))
    .optional()
    .describe('where callers see whether the service works, such as https://status.shop.example'),
  INSTANCES: integer(1, 10_000).prefault('1').describe('a whole number, 1 to 10000'),
  SHUTDOWN_DELAY: duration(0, SHUTDOWN_MAX_MS).prefault('0s').describe('a duration of 0s to 1h, such as 5s or 1m'),
  SHUTDOWN_TIMEOUT: duration(1_000, SHUTDOWN_MAX_MS)
    .optional()
    .describe('a duration of 1s to 1h, longer than SHUTDOWN_DELAY, such as 10s or 2m'),
  EVENTS_RETENTION: duration(1_000, RETENTION_MAX_MS)
    .prefault('30d')
    .describe('a duration of 1s to 36500d, such as 30s, 15m, 24h or 30d'),
  PETS_SUNSET_AT: z
    .union([z.iso.date(), z.iso.datetime({ offset: true })])
    .prefault('2027-06-30')
    .transform((text) => new Date(text))
    .describe('a date or a date-time with its offset, such as 2027-06-30 or 2027-06-30T12:00:00Z'),
  LOG_LEVEL: z
    .enum(LOG_LEVELS)
    .default('info')
    .describe(`one of ${LOG_LEVELS.join(', ')}`),
  ACCESS_LOG: onOrOff('off'),
  LOG_FORMAT: z.enum(LOG_FORMATS).optional().describe('pretty or json'),
};

export interface SettingsOptions {
  /** What a relative DATA_DIR is relative to. */
  readonly workingFolder: string;
  /** Whether a person reads the log: its format then is `pretty` where LOG_FORMAT says nothing. */
  readonly isTerminal: boolean;
}

/** @throws SettingsError that names every variable whose value is wrong, what it is, and what would be right */
export function readSettings(environment: Environment, { workingFolder, isTerminal }: SettingsOptions): Settings {
  const values = readVariables(environment, VARIABLES, (valid) => {
    const { PORT, ADMIN_PORT, REDIS_URL, INSTANCES = 1 } = valid;
    const { SHUTDOWN_DELAY = 0, SHUTDOWN_TIMEOUT } = valid;
    const problems = [...findStorageConflicts(environment, valid)];
    if (INSTANCES > 1 && REDIS_URL === undefined && !isNamed(environment, 'REDIS_URL')) {
      problems.push(
        `INSTANCES is ${INSTANCES}, and REDIS_URL is not set, so each server would allow the whole limit; set REDIS_URL`,
      );
    }
    if (SHUTDOWN_TIMEOUT !== undefined && SHUTDOWN_TIMEOUT <= SHUTDOWN_DELAY) {
      problems.push(
        'SHUTDOWN_TIMEOUT is not longer than SHUTDOWN_DELAY; requests need some time after it: set a longer one',
      );
    }
    if (PORT === 65_535 && ADMIN_PORT === undefined) {
      problems.push('ADMIN_PORT is not set, and PORT + 1 is not a valid port; set ADMIN_PORT');
    }
    const isTaken = PORT !== undefined && PORT !== 0 && PORT === ADMIN_PORT;
    if (isTaken) problems.push(describeProblem('ADMIN_PORT', String(PORT), VARIABLES.ADMIN_PORT));
    return problems;
  });
  const { PORT: port } = values;
  const byDefault = isTerminal ? 'pretty' : 'json';
  return {
    ...toStorageSettings(values, workingFolder),
    host: values.HOST,
    port,
    reusePort: values.REUSE_PORT,
    adminHost: values.ADMIN_HOST,
    adminPort: values.ADMIN_PORT ?? (port === 0 ? 0 : port + 1),
    publicBaseUrl: values.PUBLIC_BASE_URL,
    stagingBaseUrl: values.STAGING_BASE_URL,
    securityContact: values.SECURITY_CONTACT,
    supportContact: values.SUPPORT_CONTACT,
    statusPageUrl: values.STATUS_PAGE_URL,
    corsOrigins: values.CORS_ORIGINS,
    trustProxy: values.TRUST_PROXY,
    instances: values.INSTANCES,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT ?? values.SHUTDOWN_DELAY + SHUTDOWN_MS,
    eventsRetentionMs: values.EVENTS_RETENTION,
    petsSunsetAt: values.PETS_SUNSET_AT,
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT ?? byDefault,
    // Without settings this is a first try of the start command, perhaps with its output in a file.
    showsBanner: (values.LOG_FORMAT ?? (values.DATABASE_URL === undefined ? 'pretty' : byDefault)) === 'pretty',
    accessLogLevel: values.ACCESS_LOG ? 'info' : 'debug',
  };
}

/** What may be a name is looked up when the server listens. */
function parseHost(text: string): string | undefined {
  const isName = /^\w[\w-]*(\.\w[\w-]*)*\.?$/.test(text) && URL.canParse(`http://${text}`); // which no 127.0.0.300 can
  return isName || isIPv6(text) ? text : undefined;
}

function parseBaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !url.pathname.endsWith('/v1')) return undefined;
  return url.username + url.password + url.search + url.hash === '' ? url.href : undefined;
}

/** As the field Contact of RFC 9116 wants it, in one line. */
function parseContact(text: string): string | undefined {
  if (!/^(?:mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/.test(text)) return undefined;
  return URL.parse(text)?.href;
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = splitList(text);
  return origins.every((origin) => URL.parse(origin)?.origin === origin) ? origins : undefined;
}

function parseTrustProxy(text: string): TrustProxy | undefined {
  if (text === 'off') return false;
  if (text === 'true') return true;
  if (/^\d+$/.test(text)) return Number(text) >= 1 && Number(text) <= 32 ? Number(text) : undefined;
  const addresses = splitList(text);
  return addresses.every((address) => ADDRESS_OR_NETWORK.safeParse(address).success) ? addresses : undefined;
}

const splitList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
