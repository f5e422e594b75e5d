import type { Socket } from 'node:net';
import type { Exchange } from './exchange.ts';

/** The exchange that last began on a connection. */
const LAST_EXCHANGE = Symbol('lastExchange');
/** Whether what came on a connection was refused by the HTTP parser: nothing after it can be understood. */
const IS_REFUSED = Symbol('isRefused');

declare module 'node:net' {
  interface Socket {
    [LAST_EXCHANGE]?: Exchange;
    [IS_REFUSED]?: true;
  }
}

/** How long a connection is read on after its last answer, so that the answer is not lost to a reset. */
const LINGER_MS = 1_000;

export const lastExchangeOn = (socket: Socket): Exchange | undefined => socket[LAST_EXCHANGE];

export function setLastExchange(socket: Socket, exchange: Exchange): void {
  socket[LAST_EXCHANGE] = exchange;
}

/** Marks a connection as refused. @returns whether it was not so before: the parser reports again with every chunk */
export function markRefused(socket: Socket): boolean {
  if (socket[IS_REFUSED] === true) return false;
  socket[IS_REFUSED] = true;
  return true;
}

/** Says that this is the end, and closes once the other side has closed too, or after {@link LINGER_MS}. */
export function closeGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Lets a connection end gently after the answer that is being written. To close at once while the client still sends
 * would reset the connection, and the client might never read the answer (RFC 9112 section 9.6).
 */
export function closeGentlyAfterAnswer(socket: Socket): void {
  // Node calls this when the last answer of a connection is written.
  socket.destroySoon = () => closeGently(socket);
}
