import fp from 'fastify-plugin';
import { readForwardedAddress, type TrustFunction } from '../client-address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The address of the client, without a port; an empty text if the client has left. */
    readonly clientAddress: string;
  }
}

/** In these, proxies that are not set up for `X-Forwarded-For` name the client. They are not read: a client can send them too. */
const OTHER_HEADERS = [
  'forwarded',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'x-azure-clientip',
];

/** The maximum length of a proxy's text in the log. */
const LOGGED_MAX_LENGTH = 100;

/**
 * Reads the address that Fastify's `trustProxy` selects. If the address cannot be parsed, the request counts for its proxy:
 * if it counted for the text itself, a client could get new limits with any text.
 */
export const clientAddress = fp<{ readonly isTrustedProxy: TrustFunction }>(
  async (app, { isTrustedProxy }) => {
    let hasWarned = false;
    let hasNamedHeaders = false;
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
    app.addHook('onRequest', ({ headers, socket }, _reply, done) => {
      const { remoteAddress: peer = '' } = socket;
      const isSent = (name: string) => headers[name] !== undefined;
      // Most requests have none of these headers, so the peer need not be looked at.
      const mayNameClient = !hasNamedHeaders && !isSent('x-forwarded-for') && OTHER_HEADERS.some(isSent);
      if (mayNameClient && peer !== '' && isTrustedProxy(peer, 0)) {
        hasNamedHeaders = true;
        app.log.warn(
          { headers: OTHER_HEADERS.filter(isSent), peer },
          'a trusted proxy sent no X-Forwarded-For, the only header that is read for the address of a client: such requests count as those of the proxy',
        );
      }
      done();
    });
  },
  { name: 'client-address' },
);
