import { isIPv4 } from 'node:net';
import { ADDRESS_REQUESTS_PER_MINUTE } from '@petstore/domain';
import type { Subject } from '@petstore/rate-limit';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The name under which the requests of an address are counted: an IPv4 address itself, or the /64 network of an IPv6
 * address, because a subscriber usually has a whole /64. `::ffff:192.0.2.1` counts as the IPv4 address in it.
 *
 * @param address as the socket or a trusted proxy gives it; any other text is returned unchanged
 */
export function networkOf(address: string): string {
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
  const network = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, '').toLowerCase());
  return `${network.join(':')}::/64`;
}

/** Counts the requests of an address that have no valid key. */
export const addressSubject = (address: string): Subject => ({
  name: `address:${networkOf(address)}`,
  perMinute: ADDRESS_REQUESTS_PER_MINUTE,
  perDay: undefined,
});
