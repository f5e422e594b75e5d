import type { Socket } from 'node:net';

/** How long a connection is read on after its last response, so that the response is not lost to a reset. */
const LINGER_MS = 1_000;

/** Ends our side of a connection, and closes it once the other side has ended too, or after {@link LINGER_MS}. */
export function closeGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Lets a connection end gently after the response that is being written. To close at once while the client still sends
 * would reset the connection, and the client might never read the response (RFC 9112 section 9.6).
 */
export function closeGentlyAfterResponse(socket: Socket): void {
  // Node calls this when the last response of a connection is written.
  socket.destroySoon = () => closeGently(socket);
}
