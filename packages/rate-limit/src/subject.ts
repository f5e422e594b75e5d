import { isIPv4 } from 'node:net';
import { ADDRESS_REQUESTS_PER_MINUTE, type ApiKeyId, type RequestLimits } from '@petstore/domain';

interface Subject {
  /** The name under which the state is kept. */
  readonly storageKey: string;
  /** Requests in any 60 seconds. */
  readonly perMinute: number;
}

/** An API key, whatever number of secrets it has: rotated secrets share windows, strikes and bans. */
export interface ApiKeySubject extends Subject {
  readonly type: 'api-key';
  /** Requests in any 24 hours. */
  readonly perDay: number;
}

/** A client's address, for requests without a valid key. Has no daily limit and is never banned. */
export interface ClientAddressSubject extends Subject {
  readonly type: 'client-address';
  readonly perDay: undefined;
}

/** Whose requests are counted. Create it once per key and keep it; limiters hold nothing by its identity. */
export type RateLimitSubject = ApiKeySubject | ClientAddressSubject;

const API_KEY_PREFIX = 'rl:key:';
const ADDRESS_PREFIX = 'rl:addr:';

export const apiKeyStorageKey = (id: ApiKeyId): string => API_KEY_PREFIX + id;

/** The inverse of {@link apiKeyStorageKey}. */
export const apiKeyIdOf = (storageKey: string): ApiKeyId => storageKey.slice(API_KEY_PREFIX.length) as ApiKeyId; // put in there as one

export const apiKeySubject = (id: ApiKeyId, limits: RequestLimits): ApiKeySubject => ({
  type: 'api-key',
  storageKey: apiKeyStorageKey(id),
  perMinute: limits.perMinute,
  perDay: limits.perDay,
});

/**
 * The subject of a client's address: an IPv4 address itself, or the /64 network of an IPv6 address, because a
 * subscriber usually has all of one. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is that IPv4 address.
 *
 * @param address as the socket or a trusted proxy gives it; anything else is counted as itself
 */
export const clientAddressSubject = (address: string): ClientAddressSubject => ({
  type: 'client-address',
  storageKey: ADDRESS_PREFIX + networkOf(address),
  perMinute: ADDRESS_REQUESTS_PER_MINUTE,
  perDay: undefined,
});

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

function networkOf(address: string): string {
  if (isIPv4(address)) return address;
  const mapped = MAPPED_IPV4.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const zone = address.indexOf('%');
  const [head = '', tail] = (zone === -1 ? address : address.slice(0, zone)).split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? 0 : tail.split(':').length + (tail.includes('.') ? 1 : 0);
    const zeros = 8 - groups.length - after;
    for (let i = 0; i < zeros; i++) groups.push('0');
    if (tail !== '') groups.push(...tail.split(':'));
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`;
}
