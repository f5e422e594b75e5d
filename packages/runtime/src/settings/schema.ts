import { z } from 'zod';
import { DATABASE_URL_FORM, parseDatabaseUrl } from './database-url.ts';
import { parseRedisTarget } from './redis-target.ts';
import * as values from './values.ts';

/** The description of a setting in messages and in docs/settings.md. */
export interface SettingText {
  /** The environment variable. */
  readonly variable: string;
  /** Completes "it must be ..." if the value is wrong. */
  readonly mustBe: string;
  /** What the setting does, in Markdown. */
  readonly meaning: string;
  /** The behaviour if the variable is not set, in Markdown, if the schema has no default. @default 'none' */
  readonly unset?: string;
  /**
   * Messages hide the value, a file may hold it (`NAME_FILE`), and it must not be set but empty: no default may replace a
   * secret that was not delivered. @default false
   */
  readonly isSecret?: boolean;
}

/** Describes the schema of a setting. */
const setting = <Schema extends z.ZodType>(
  variable: string,
  schema: Schema,
  text: Omit<SettingText, 'variable'>,
): Schema => schema.meta({ variable, ...text });

/** The description given to {@link setting}. */
export function textOf(schema: z.core.$ZodType): SettingText {
  return z.globalRegistry.get(schema) as unknown as SettingText; // the registry has no type for what it holds
}

const HOUR_MS = 3_600_000;
/** A hundred years: PostgreSQL has no time that lies much longer ago. */
const RETENTION_MAX_MS = 36_500 * 24 * HOUR_MS;

/** A shell replaces these at the beginning of a path. Files of settings and orchestrators do not. */
const HOME_FOLDER_FREE = /^(?!~(?:\/|$)|\$)/;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * All settings. Each schema takes the trimmed text of its variable, or `undefined` if that is unset or empty. After a
 * change, `pnpm --filter @petstore/tooling-checks generate` updates docs/settings.md.
 */
export const settingsSchema = z.object({
  port: setting('PORT', values.port.prefault('3000'), {
    mustBe: 'a port, 0 to 65535 (0 takes a free one)',
    meaning: 'port of the public listener',
  }),
  host: setting('HOST', values.host.prefault('127.0.0.1'), {
    mustBe: 'a host name or an IP address, such as 127.0.0.1 or 0.0.0.0',
    meaning: 'address of the public listener; a name stands for its first address',
  }),
  adminPort: setting('ADMIN_PORT', values.port.optional(), {
    mustBe: 'a port, 0 to 65535 (0 takes a free one), other than PORT',
    meaning: 'port of the listener for health and metrics, which needs no key',
    unset: '`PORT` + 1 (0 if `PORT` is 0)',
  }),
  adminHost: setting('ADMIN_HOST', values.host.prefault('127.0.0.1'), {
    mustBe: 'a host name or an IP address, such as 127.0.0.1 or 0.0.0.0',
    meaning: 'address of that listener; by default, other machines cannot reach it',
  }),
  databaseUrl: setting('DATABASE_URL', z.string().transform(parseDatabaseUrl).optional(), {
    mustBe: DATABASE_URL_FORM,
    meaning:
      'PostgreSQL 15 or newer: [failover, connection poolers, TLS, roles](operations.md#a-postgresql-of-your-own)',
    unset: 'embedded, below `DATA_DIR`',
    isSecret: true,
  }),
  databaseConnections: setting('DATABASE_CONNECTIONS', values.integer(1, 1_000).prefault('16'), {
    mustBe: 'a whole number, 1 to 1000',
    meaning:
      'size of the connection pool for requests. If PostgreSQL allows fewer connections, requests wait for a free one, ' +
      'and the log says so once',
  }),
  redis: setting('REDIS_URL', values.parsedBy(parseRedisTarget).optional(), {
    mustBe:
      'redis://user:password@host:6379/0 (rediss:// for TLS, of any certificate with ?tls_verify=none at the end; / ? # in ' +
      'a password as %2F %3F %23), several without /0, comma-separated, for a cluster, or ' +
      'redis+sentinel://host:26379,host:26379/master-name',
    meaning: 'Redis, Redis Cluster or Sentinels: [URLs, TLS, permissions](operations.md#redis)',
    unset:
      "without `DATABASE_URL` the machine's Redis or Valkey, run below `DATA_DIR` until the server ends, for evaluation; " +
      'otherwise, or if the machine has none, limits in the process',
    isSecret: true,
  }),
  redisPrefix: setting(
    'REDIS_PREFIX',
    z
      .string()
      .regex(/^[\w.:-]{0,40}$/)
      .default(''),
    {
      mustBe: '1 to 40 letters, digits and . : _ -, such as shop: (no braces, which would bind all keys to one slot)',
      meaning: 'prefix of each key and channel, so that two deployments can share a Redis',
    },
  ),
  dataFolder: setting('DATA_DIR', z.string().regex(HOME_FOLDER_FREE).default('.data'), {
    mustBe: 'a folder, written out (~ and $HOME are not expanded)',
    meaning: 'holds the embedded PostgreSQL and Redis, and the demo keys',
  }),
  migrate: setting('MIGRATE', values.onOrOff.prefault('on'), {
    mustBe: 'on or off',
    meaning: '`off`: [migrations](operations.md#upgrades) are never applied, and an older schema is refused',
  }),
  publicBaseUrl: setting('PUBLIC_BASE_URL', values.baseUrl.optional(), {
    mustBe: 'an http or https URL that ends in /v1',
    meaning: 'address of the service in the OpenAPI documents and in links to errors',
    unset: 'from the listener; with `HOST=0.0.0.0` or `::`, relative to the document',
  }),
  stagingBaseUrl: setting('STAGING_BASE_URL', values.baseUrl.optional(), {
    mustBe: 'an http or https URL that ends in /v1',
    meaning: 'a second address in the OpenAPI documents',
  }),
  corsOrigins: setting('CORS_ORIGINS', values.origins.prefault(''), {
    mustBe: 'origins separated by commas, such as https://shop.example (no path, no slash at the end)',
    meaning: 'origins from which browsers may call',
  }),
  trustProxy: setting('TRUST_PROXY', values.trustProxy.prefault('off'), {
    mustBe:
      'off, true (every proxy), the number of proxies (1 to 32), or addresses and networks separated by commas, such ' +
      'as 10.0.0.0/8',
    meaning: 'whose [`X-Forwarded-For`](operations.md#behind-a-proxy) is trusted',
  }),
  securityContact: setting('SECURITY_CONTACT', values.contact.optional(), {
    mustBe: 'a mailto: or https: URL, such as mailto:security@shop.example',
    meaning: 'contact in `/.well-known/security.txt` (RFC 9116)',
  }),
  supportContact: setting('SUPPORT_CONTACT', values.contact.optional(), {
    mustBe: 'a mailto: or https: URL, such as https://shop.example/support',
    meaning: 'contact in the OpenAPI documents and the reference',
  }),
  statusPageUrl: setting('STATUS_PAGE_URL', values.httpsUrl.optional(), {
    mustBe: 'an https: URL, such as https://status.shop.example',
    meaning: 'link in the OpenAPI documents and the reference',
  }),
  instances: setting('INSTANCES', values.integer(1, 10_000).prefault('1'), {
    mustBe: 'a whole number, 1 to 10000',
    meaning: 'how many servers run; divides the limits while Redis is unavailable',
  }),
  shutdownDelayMs: setting('SHUTDOWN_DELAY', values.duration(0, HOUR_MS).prefault('0s'), {
    mustBe: 'a duration of 0s to 1h, such as 5s or 1m',
    meaning:
      'how long requests are still served after a signal, while `/readyz` is 503: longer than your load balancer takes ' +
      '[to notice](operations.md#what-happens-when)',
  }),
  shutdownTimeoutMs: setting('SHUTDOWN_TIMEOUT', values.duration(1_000, HOUR_MS).optional(), {
    mustBe: 'a duration of 1s to 1h, longer than SHUTDOWN_DELAY, such as 10s or 2m',
    meaning:
      'deadline for the whole shutdown after a signal; requests still in flight are aborted 3 s before it (half of the ' +
      'time after the delay, if that is less than 6 s)',
    unset: '10s after the delay',
  }),
  eventsRetentionMs: setting('EVENTS_RETENTION', values.duration(1_000, RETENTION_MAX_MS).prefault('30d'), {
    mustBe: 'a duration of 1s to 36500d, such as 30s, 15m, 24h or 30d',
    meaning: 'how long [events](operations.md#events) of orders are retained',
  }),
  petsSunsetAt: setting('PETS_SUNSET_AT', values.dateOrDateTime.prefault('2027-06-30'), {
    mustBe: 'a date, 2027-06-30, or a date-time with its offset, 2027-06-30T12:00:00Z',
    meaning: 'from then on `GET /pets/{petId}` is 410',
  }),
  logLevel: setting('LOG_LEVEL', z.enum(LOG_LEVELS).default('info'), {
    mustBe: `one of ${LOG_LEVELS.join(', ')}`,
    meaning: 'minimum level of the [log](operations.md#the-log); `listening on` is always logged',
  }),
  logFormat: setting('LOG_FORMAT', z.enum(['pretty', 'json']).optional(), {
    mustBe: 'pretty or json',
    meaning: 'format of [the log](operations.md#the-log)',
    unset: 'pretty on a terminal, otherwise json',
  }),
  accessLogLevel: setting(
    'ACCESS_LOG',
    values.onOrOff.prefault('off').transform((isOn) => (isOn ? 'info' : 'debug')),
    {
      mustBe: 'on or off',
      meaning: '`on`: each request is [logged](operations.md#the-log) at info, otherwise at debug',
    },
  ),
});

/** The settings that the command line reads: where the data and the limits are kept. */
export const storageSchema = settingsSchema.pick({
  databaseUrl: true,
  redis: true,
  redisPrefix: true,
  dataFolder: true,
  migrate: true,
});

export type StorageSettings = Readonly<z.output<typeof storageSchema>>;

/** The values of the settings. A missing one has no default, or a default that depends on other settings. */
export type SettingValues = Readonly<z.output<typeof settingsSchema>>;
