import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface RequestsAheadOptions {
  /** How many requests clients may send ahead on all connections together. */
  readonly max: number;
  /** How many requests a client may send ahead on one connection, however many there are on others. */
  readonly maxPerConnection: number;
}

/**
 * Bounds what clients send ahead: requests that wait behind another one of their connection. Node makes requests of all
 * that it reads at once, some thousand from 64 kB, and each holds memory until the responses before it have been read.
 */
export class RequestsAhead {
  readonly #options: RequestsAheadOptions;
  /** The requests in flight of each connection that has any. */
  readonly #inFlight = new Map<Socket, number>();
  #count = 0;

  constructor(options: RequestsAheadOptions) {
    this.#options = options;
  }

  /**
   * Counts a request. Its connection is cut if it has sent more ahead than one connection may, and all together have, too.
   *
   * @returns false if the request is not to be served, because its connection was cut
   */
  admit({ socket }: IncomingMessage, response: ServerResponse): boolean {
    // What Node had read of the connection before it was cut still becomes requests.
    if (socket.destroyed) return false;
    const before = this.#inFlight.get(socket) ?? 0;
    const { max, maxPerConnection } = this.#options;
    if (before >= maxPerConnection && this.#count - this.#inFlight.size >= max) {
      socket.destroy();
      return false;
    }
    this.#count++;
    this.#inFlight.set(socket, before + 1);
    response.once('close', () => {
      this.#count--;
      const left = (this.#inFlight.get(socket) ?? 0) - 1;
      if (left > 0) this.#inFlight.set(socket, left);
      else this.#inFlight.delete(socket);
    });
    return true;
  }
}
