import type { Socket } from 'node:net';
import fp from 'fastify-plugin';
import { networkOf } from '../client-network.ts';
import { InFlightCounts } from '../in-flight-counts.ts';

export interface ConnectionBoundsOptions {
  /** Open connections at once; more are closed as they come. */
  readonly max: number;
  /** Of these, from one address (IPv6: one /64). */
  readonly maxPerAddress: number;
  /** Whether a peer is a trusted proxy: it speaks for many clients, and the bound of one does not hold for it. */
  readonly isProxy: (peer: string) => boolean;
}

/** Bounds the connections that are open at once. */
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
