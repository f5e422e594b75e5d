import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

/**
 * Which proxies' `X-Forwarded-For` to trust: none, all, the nearest so many, or those with these addresses (CIDR
 * ranges too). A trusted proxy can name any client it likes.
 */
export type TrustedProxies = false | true | number | readonly string[];

/** Finds the address of the client that a request came from. */
export type ClientAddress = (request: IncomingMessage) => string;

/** The address at the other end of the connection; an empty text where it is gone. */
const peerAddress: ClientAddress = ({ socket }) => socket.remoteAddress ?? '';

/** @returns a function made once at start; what a proxy says is ignored unless it is an IP address */
export function createClientAddress(trusted: TrustedProxies): ClientAddress {
  if (trusted === false || trusted === 0) return peerAddress;
  const isTrusted = trustFunction(trusted);
  return (request) => {
    const peer = peerAddress(request);
    if (peer === '') return peer;
    const address = proxyAddr(request, isTrusted);
    return isIP(address) === 0 ? peer : address;
  };
}

/** @returns whether a peer is a trusted proxy; `undefined` where none is trusted */
export function createIsProxy(trusted: TrustedProxies): ((peer: string) => boolean) | undefined {
  if (trusted === false || trusted === 0) return undefined;
  const isTrusted = trustFunction(trusted);
  return (peer) => peer !== '' && isTrusted(peer, 0);
}

function trustFunction(trusted: true | number | readonly string[]): (address: string, hop: number) => boolean {
  if (trusted === true) return () => true;
  if (typeof trusted === 'number') return (_, hop) => hop < trusted;
  return proxyAddr.compile([...trusted]);
}
