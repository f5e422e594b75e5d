import fp from 'fastify-plugin';
import { readForwardedAddress } from '../client-address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client, without a port; an empty text if the client has left. */
    readonly clientAddress: string;
  }
}

/** How much is logged of what a proxy wrote. */
const LOGGED_MAX_LENGTH = 100;

/**
 * Reads the address that Fastify's `trustProxy` picks. A request whose address cannot be read counts as its proxy's: if it
 * counted as itself, any text would have limits of its own.
 */
export const clientAddress = fp(
  async (app) => {
    let hasWarned = false;
    app.decorateRequest('clientAddress', {
      getter() {
        const peer = this.socket.remoteAddress ?? '';
        const address = readForwardedAddress(this.ip ?? '');
        if (address === undefined && peer !== '' && !hasWarned) {
          hasWarned = true;
          const entry = this.ip.slice(0, LOGGED_MAX_LENGTH);
          app.log.warn(
            { entry, peer },
            'an address in X-Forwarded-For cannot be read: such requests count as those of the proxy',
          );
        }
        return address ?? peer;
      },
    });
  },
  { name: 'client-address' },
);
