import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientAddressSubject } from '@petstore/rate-limit';
import type { HttpBounds } from '../app-options.ts';
import { InFlightCounts } from '../in-flight.ts';
import { createServer } from '../node-http.ts';

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface BoundedServerOptions {
  readonly bounds: HttpBounds;
  /** Whether a peer is a trusted proxy: it speaks for many clients, and the bounds of one do not hold for it. */
  readonly isProxy: ((peer: string) => boolean) | undefined;
}

/** Creates the HTTP server: a bounded number of connections, and one request at a time on each. */
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

/** The response to the request that began last on a connection. */
const CURRENT = Symbol('current');
/** The requests that came on a connection meanwhile. */
const WAITING = Symbol('waiting');
/** Whether a request came while another was in flight on its connection. */
const HAS_WAITED = Symbol('hasWaited');

declare module 'node:http' {
  interface IncomingMessage {
    [HAS_WAITED]?: true;
  }
}

declare module 'node:net' {
  interface Socket {
    [CURRENT]?: ServerResponse;
    [WAITING]?: WaitingRequest[] | undefined;
    /** Node's own: its HTTP server reads on after each request unless this is set. */
    _paused?: boolean;
    /** Node's own: the HTTP parser of a connection. */
    parser?: { resume(): void } | null;
  }
}

/** What is to be done once all requests before it on its connection have their responses. */
interface WaitingRequest {
  /** The request that it belongs to, or the last one before it. */
  readonly request: IncomingMessage;
  readonly begin: () => void;
  /** How many waiting requests it is. */
  readonly count: 0 | 1;
}

type PipelineBounds = Pick<HttpBounds, 'maxWaiting' | 'maxWaitingPerAddress'>;

/**
 * Works on one request of a connection at a time. Node parses what a client sends ahead, up to 64 kB of it at once, and
 * hands all of it over; here it waits, nothing more is read until its turn has come, and the rest waits in the socket.
 *
 * @see RFC 9112 section 9.3.2: responses come in the order of their requests, so beginning them at once gains nothing
 */
class Pipelines {
  readonly #bounds: PipelineBounds;
  readonly #handle: RequestHandler;
  readonly #callerOf: (socket: Socket) => string | undefined;
  readonly #waiting = new InFlightCounts();
  #waitingCount = 0;

  /** @param callerOf by which address the waiting requests of a connection are counted; `undefined`: a trusted proxy */
  constructor(bounds: PipelineBounds, handle: RequestHandler, callerOf: (socket: Socket) => string | undefined) {
    this.#bounds = bounds;
    this.#handle = handle;
    this.#callerOf = callerOf;
  }

  /** Begins a request now, or when all before it on its connection have their responses. */
  enter(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (isFree(socket)) this.#begin(request, response);
    else this.#wait(socket, { request, begin: () => this.#begin(request, response), count: 1 });
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    request.socket[CURRENT] = response;
    this.#handle(request, response);
  }

  #wait(socket: Socket, waiting: WaitingRequest): void {
    const caller = this.#callerOf(socket);
    if (!this.#take(caller)) {
      // The client has to send again what got no response (RFC 9112 section 9.3.2).
      socket.destroy();
      return;
    }
    waiting.request[HAS_WAITED] = true;
    pause(socket);
    if (socket[WAITING] !== undefined) {
      socket[WAITING].push(waiting);
      return;
    }
    const queue = [waiting];
    socket[WAITING] = queue;
    // Node's own server reads on whenever something that it wrote was taken: each piece of a long list.
    const onDrain = () => pause(socket);
    const onClose = () => {
      for (const { count } of queue.splice(0)) this.#give(caller, count);
    };
    socket.on('drain', onDrain).once('close', onClose);
    const next = () => {
      // Of a client that is gone nothing more is begun; `onClose` follows.
      const first = socket.destroyed ? undefined : queue.shift();
      if (first === undefined) return;
      this.#give(caller, first.count);
      const isLast = queue.length === 0;
      if (isLast) {
        socket[WAITING] = undefined;
        socket.off('drain', onDrain).off('close', onClose);
      }
      first.begin();
      if (isLast) readOn(socket);
      else socket[CURRENT]?.once('close', next);
    };
    socket[CURRENT]?.once('close', next);
  }

  #take(caller: string | undefined): boolean {
    const { maxWaiting, maxWaitingPerAddress } = this.#bounds;
    if (caller !== undefined && !this.#waiting.take(caller, 1, maxWaitingPerAddress)) return false;
    if (this.#waitingCount < maxWaiting) {
      this.#waitingCount++;
      return true;
    }
    if (caller !== undefined) this.#waiting.give(caller, 1);
    return false;
  }

  #give(caller: string | undefined, count: number): void {
    this.#waitingCount -= count;
    if (caller !== undefined) this.#waiting.give(caller, count);
  }
}

const isFree = (socket: Socket): boolean =>
  socket[WAITING] === undefined && (socket[CURRENT]?.writableFinished ?? true);

function pause(socket: Socket): void {
  socket._paused = true;
  socket.pause();
}

/** As Node's own server does it, once a client that was too slow has read enough. */
function readOn(socket: Socket): void {
  socket._paused = false;
  socket.parser?.resume();
  socket.resume();
}

/** The response to the request that began last on a connection. */
export const lastResponseOn = (socket: Socket): ServerResponse | undefined => socket[CURRENT];

/** Whether more was, or may have been, sent behind a request: the last that waited was begun before anything else is read. */
export const mayBeFollowed = (request: IncomingMessage): boolean =>
  request.socket[WAITING] !== undefined || request[HAS_WAITED] === true;

/** Whether nothing is read of a connection, because requests wait on it. */
export const isHeldBack = (socket: Socket): boolean => socket[WAITING] !== undefined;

/**
 * Does something that concerns a connection as a whole once all requests that wait on it have their responses. One that
 * has not come in full never will, and is left out.
 *
 * @returns false, and does nothing, where none waits
 */
export function afterWaiting(socket: Socket, conclude: () => void): boolean {
  const queue = socket[WAITING];
  const last = queue?.at(-1);
  if (queue === undefined || last === undefined) return false;
  const conclusion = { request: last.request, begin: conclude };
  if (last.request.complete) queue.push({ ...conclusion, count: 0 });
  else queue[queue.length - 1] = { ...conclusion, count: last.count };
  return true;
}
