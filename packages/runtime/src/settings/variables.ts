import { BlockList, isIP, isIPv6 } from 'node:net';
import { z } from 'zod';
import { parseRedisTarget } from './redis-target.ts';

/** One environment variable: how its text is read, and how a person is told what is right. */
interface Variable<Value> {
  readonly schema: z.ZodType<Value, string>;
  /** Completes "must be ...". */
  readonly expected: string;
  /** Text that stands for an unset or empty variable; without it the value is `undefined`. */
  readonly default?: string;
  /** Whether the text may hold a password. @default false */
  readonly secret?: boolean;
}

/** Which proxies' X-Forwarded-For to believe: none, all, the nearest so many, or those at these addresses. */
export type TrustProxy = boolean | number | readonly string[];

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = 'pretty' | 'json';

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max));

/** Takes what a function reads, and refuses what it gives `undefined` for. */
const readBy = <Value>(read: (text: string) => Value | undefined) =>
  z.string().transform((text, context) => {
    const value = read(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  });

const hostName = z.string().regex(/^[\w.:-]+$/);

/** Every setting. Its text is trimmed before it is read; unset and empty are the same. */
export const VARIABLES = {
  HOST: {
    schema: hostName,
    default: '127.0.0.1',
    expected: 'a host name or an IP address to listen on, such as 127.0.0.1 or 0.0.0.0',
  },
  PORT: { schema: integer(0, 65_535), default: '3000', expected: 'a port, 0 to 65535 (0 takes a free one)' },
  ADMIN_PORT: { schema: integer(0, 65_535), expected: 'a port, 0 to 65535 (0 takes a free one), other than PORT' },
  ADMIN_HOST: {
    schema: hostName,
    default: '127.0.0.1',
    expected: 'a host name or an IP address for health and metrics to listen on, such as 127.0.0.1 or 0.0.0.0',
  },
  DATABASE_URL: {
    schema: readBy(parseDatabaseUrl),
    secret: true,
    expected: 'the address of a PostgreSQL database, postgres://user:password@host:5432/database',
  },
  REDIS_URL: {
    schema: readBy(parseRedisTarget),
    secret: true,
    expected:
      'redis://user:password@host:6379/0 (rediss:// for TLS), several of these separated by commas for a cluster ' +
      '(all with the same user and password, and no database), or redis+sentinel://host:26379,host:26379/master-name',
  },
  DATA_DIR: { schema: z.string(), default: '.data', expected: 'a folder' },
  PUBLIC_BASE_URL: { schema: readBy(parseBaseUrl), expected: 'an http or https URL that ends in /v1' },
  STAGING_BASE_URL: { schema: readBy(parseBaseUrl), expected: 'an http or https URL that ends in /v1' },
  CORS_ORIGINS: {
    schema: readBy(parseOrigins),
    default: '',
    expected: 'origins separated by commas, such as https://shop.example (no path, no slash at the end)',
  },
  TRUST_PROXY: {
    schema: readBy(parseTrustProxy),
    default: 'off',
    expected:
      'off, true (believe every proxy), the number of proxies in front (1 to 32), or addresses and networks ' +
      'separated by commas, such as 10.0.0.0/8',
  },
  SECURITY_CONTACT: {
    schema: readBy(parseContact),
    expected: 'where to report a weakness, such as mailto:security@shop.example or https://shop.example/security',
  },
  INSTANCES: { schema: integer(1, 10_000), default: '1', expected: 'a whole number, 1 to 10000' },
  PROCESSES: { schema: integer(1, 64), default: '1', expected: 'a whole number, 1 to 64' },
  PETS_SUNSET_AT: {
    schema: readBy(parseDate),
    default: '2027-06-30',
    expected: 'a date or a date-time with its offset, such as 2027-06-30 or 2027-06-30T12:00:00Z',
  },
  LOG_LEVEL: { schema: z.enum(LOG_LEVELS), default: 'info', expected: `one of ${LOG_LEVELS.join(', ')}` },
  LOG_FORMAT: { schema: z.enum(['pretty', 'json']), expected: 'pretty or json' },
  MIGRATE: {
    schema: z.enum(['on', 'off']).transform((text) => text === 'on'),
    default: 'on',
    expected: 'on or off',
  },
} as const satisfies Record<string, Variable<unknown>>;

export type VariableName = keyof typeof VARIABLES;

function parseDatabaseUrl(text: string): string | undefined {
  return /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text) ? text : undefined;
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
  return addresses.every(isAddressOrNetwork) ? addresses : undefined;
}

function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  if (isIP(address) === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  if (!/^\d{1,3}$/.test(prefix)) return false;
  try {
    new BlockList().addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
    return true;
  } catch {
    return false;
  }
}

function parseDate(text: string): Date | undefined {
  const isDate = z.iso.date().safeParse(text).success || z.iso.datetime({ offset: true }).safeParse(text).success;
  return isDate ? new Date(text) : undefined;
}

const splitList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
