import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

/**
 * Which proxies' `X-Forwarded-For` to trust: none, all, the nearest so many, or those with these addresses (CIDR
 * ranges too). A trusted proxy can name any client it likes.
 */
export type TrustedProxies = false | true | number | readonly string[];

/** As Fastify's `trustProxy` takes it. @param hop 0 for the peer, 1 for the proxy before it */
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

/** The address within brackets, with a port or without one. */
const IN_BRACKETS = /^\[([^\]]*)\](?::\d+)?$/;
/** An IPv4 address with a port. An IPv6 address with one stands in brackets. */
const WITH_PORT = /^([\d.]+):\d+$/;

/**
 * Reads an entry of `X-Forwarded-For` in the spellings that proxies use: `192.0.2.7`, `192.0.2.7:51234`, `2001:db8::1`,
 * `[2001:db8::1]:443`, `fe80::1%eth0`, each of them in quotes too.
 *
 * @returns the address alone; `undefined` if it is none, such as `unknown`
 */
export function readForwardedAddress(entry: string): string | undefined {
  const text = entry.trim().replace(/^"(.*)"$/, '$1');
  const [address = ''] = (IN_BRACKETS.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text).split('%', 1);
  return isIP(address) === 0 ? undefined : address;
}
