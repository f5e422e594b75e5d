import { isIP, isIPv4 } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import { ADDRESS_REQUESTS_PER_MINUTE } from '@petstore/domain';
import type { Subject } from '@petstore/rate-limit';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/**
 * The proxies whose `X-Forwarded-For` is trusted: none, all, a number of the nearest ones, or those with these addresses
 * (or CIDR ranges). A trusted proxy can claim to forward for any client.
 */
export type TrustedProxies = false | true | number | readonly string[];

/** Fastify's type of `trustProxy`. @param hop 0 for the peer, 1 for the proxy before it */
export type TrustFunction = (address: string, hop: number) => boolean;

/** @returns whether an entry of `X-Forwarded-For`, or the peer itself, is a trusted proxy */
export function createTrustFunction(trusted: TrustedProxies): TrustFunction {
  if (typeof trusted === 'boolean') return () => trusted;
  if (typeof trusted === 'number') return (_, hop) => hop < trusted;
  const isListed = proxyAddr.compile([...trusted]);
  return (entry, hop) => {
    const address = readForwardedAddress(entry);
    return address !== undefined && isListed(address, hop);
  };
}

/**
 * The address of the client that Fastify's `trustProxy` selects. If a proxy wrote no address there, such as `unknown`, the
 * request counts for its proxy: if it counted for the text itself, a client could get new limits with any text.
 *
 * @returns the address without a port; an empty text if the client has left
 */
export const clientAddressOf = ({ ip, socket }: FastifyRequest): string =>
  readForwardedAddress(ip ?? '') ?? socket.remoteAddress ?? '';

/** An address in brackets, with or without a port. Some proxies write the colon even if they know no port. */
const IN_BRACKETS = /^\[([^\]]*)\](?::\d*)?$/;
/** An IPv4 address with a port. An IPv6 address with a port is in brackets. */
const WITH_PORT = /^([\d.]+):\d*$/;

/**
 * Parses an entry of `X-Forwarded-For` in the notations that proxies use: `192.0.2.7`, `192.0.2.7:51234`, `2001:db8::1`,
 * `[2001:db8::1]:443`, `fe80::1%eth0`, each also in quotes or as the `for=` of RFC 7239. Equal addresses have equal results:
 * IPv6 in its shortest form, and `::ffff:192.0.2.7`, in all its spellings, as the IPv4 address in it.
 *
 * @returns the address without a port; `undefined` if the entry is no address, such as `unknown`
 */
function readForwardedAddress(entry: string): string | undefined {
  if (isIPv4(entry)) return entry;
  const text = entry
    .trim()
    .replace(/^for=/i, '')
    .replace(/^(["'])(.*)\1$/, '$2');
  const [address = ''] = (IN_BRACKETS.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text).split('%', 1);
  return isIP(address) === 0 ? undefined : ipaddr.process(address).toString();
}

/**
 * The name under which the requests of an address are counted: an IPv4 address itself, or the /64 network of an IPv6
 * address, because a subscriber usually has a whole /64. `::ffff:192.0.2.1` counts as the IPv4 address in it.
 *
 * @param address as the socket or {@link readForwardedAddress} gives it; any other text is returned unchanged
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** Counts the requests of an address that have no valid key. */
export const addressSubject = (address: string): Subject => ({
  name: `address:${networkOf(address)}`,
  perMinute: ADDRESS_REQUESTS_PER_MINUTE,
  perDay: undefined,
});
