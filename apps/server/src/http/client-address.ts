import { isIP, SocketAddress } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

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

/** An address in brackets, with or without a port. Some proxies write the colon even if they know no port. */
const IN_BRACKETS = /^\[([^\]]*)\](?::\d*)?$/;
/** An IPv4 address with a port. An IPv6 address with a port is in brackets. */
const WITH_PORT = /^([\d.]+):\d*$/;
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;

/**
 * Parses an entry of `X-Forwarded-For` in the notations that proxies use: `192.0.2.7`, `192.0.2.7:51234`, `2001:db8::1`,
 * `[2001:db8::1]:443`, `fe80::1%eth0`, each also in quotes or as the `for=` of RFC 7239. Equal addresses have equal results:
 * IPv6 in its shortest form, and `::ffff:192.0.2.7`, in all its spellings, as the IPv4 address in it.
 *
 * @returns the address without a port; `undefined` if the entry is no address, such as `unknown`
 */
export function readForwardedAddress(entry: string): string | undefined {
  const text = entry
    .trim()
    .replace(/^for=/i, '')
    .replace(/^(["'])(.*)\1$/, '$2');
  const [address = ''] = (IN_BRACKETS.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text).split('%', 1);
  const family = isIP(address);
  if (family !== 6) return family === 0 ? undefined : address;
  const shortest = new SocketAddress({ address, family: 'ipv6' }).address;
  return MAPPED_IPV4.exec(shortest)?.[1] ?? shortest;
}
