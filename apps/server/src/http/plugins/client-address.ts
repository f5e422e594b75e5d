import fp from 'fastify-plugin';
import { readForwardedAddress } from '../client-address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client, without a port; an empty text if the client has left. */
    readonly clientAddress: string;
  }
}

/** The maximum length of a proxy's text in the log. */
const LOGGED_MAX_LENGTH = 100;

/**
 * Reads the address that Fastify's `trustProxy` selects. If the address cannot be parsed, the request counts for its proxy:
 * if it counted for the text itself, a client could get new limits with any text.
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
