import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { networkOf } from '../client-network.ts';
import { InFlightCounts } from '../in-flight-counts.ts';

export interface ConnectionBoundsOptions {
  /** Open connections at once; further ones are closed immediately. */
  readonly max: number;
  /** Open connections at once from one address (IPv6: one /64). */
  readonly maxPerAddress: number;
  /** Whether a peer is a trusted proxy: it serves many clients, so the maximum for one address does not apply to it. */
  readonly isProxy: (peer: string) => boolean;
}

/** Limits the connections that are open at once. */
export const connectionBounds = fp<ConnectionBoundsOptions>(
  async (app, { max, maxPerAddress, isProxy }) => {
    const open = new InFlightCounts();
    app.server.maxConnections = max;
    app.server.on('connection', (socket: Socket) => {
      const peer = socket.remoteAddress ?? '';
      if (isProxy(peer)) return;
      const release = open.take(networkOf(peer), 1, maxPerAddress);
      if (release === undefined) socket.destroy();
      else socket.once('close', release);
    });
  },
  { name: 'connection-bounds' },
);
