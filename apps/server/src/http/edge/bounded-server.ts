import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientAddressSubject } from '@petstore/rate-limit';
import type { HttpBounds } from '../app-options.ts';
import { InFlightCounts } from '../in-flight.ts';
import { createServer } from '../node-http.ts';
import { Pipelines } from './pipelining.ts';

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface BoundedServerOptions {
  readonly bounds: HttpBounds;
  /** Whether a peer is a trusted proxy: it speaks for many clients, and the bounds of one do not hold for it. */
  readonly isProxy: ((peer: string) => boolean) | undefined;
}

/** Creates the HTTP server: so many connections at a time, and one request at a time on each. */
export function createBoundedServer(handle: RequestHandler, { bounds, isProxy }: BoundedServerOptions): Server {
  const callerOf = (socket: Socket): string | undefined => {
    const peer = socket.remoteAddress ?? '';
    return isProxy?.(peer) ? undefined : clientAddressSubject(peer).storageKey;
  };
  const pipelines = new Pipelines(bounds, handle, callerOf);
  const server = createServer(optionsOf(bounds), (request, response) => pipelines.enter(request, response));
  server.keepAliveTimeout = bounds.keepAliveTimeoutMs;
  server.requestTimeout = bounds.requestTimeoutMs;
  server.setTimeout(bounds.stalledTimeoutMs);
  server.maxConnections = bounds.maxConnections;
  boundConnections(server, bounds.maxConnectionsPerAddress, callerOf);
  return server;
}

const optionsOf = (bounds: HttpBounds): ServerOptions => ({
  maxHeaderSize: bounds.maxHeaderBytes,
  headersTimeout: bounds.headersTimeoutMs,
  // How late a 408 may come.
  connectionsCheckingInterval: Math.min(1_000, bounds.headersTimeoutMs),
  // A missing Host is refused by us, with an Error object.
  requireHostHeader: false,
  // No handler waits for the end of a body that was not announced.
  optimizeEmptyRequests: true,
});

function boundConnections(server: Server, max: number, callerOf: (socket: Socket) => string | undefined): void {
  const open = new InFlightCounts();
  server.on('connection', (socket: Socket) => {
    const caller = callerOf(socket);
    if (caller === undefined) return;
    if (open.take(caller, 1, max)) socket.once('close', () => open.give(caller, 1));
    else socket.destroy();
  });
}
