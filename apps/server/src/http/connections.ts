import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiError, type ErrorCode, errorResponse, refusalOf } from '@petstore/api';
import { rateLimitHeaders } from '@petstore/rate-limit';
import type { ConnectionError, FastifyReply } from 'fastify';
import fp from 'fastify-plugin';
import { addressSubject, networkOf, type TrustFunction } from './address.ts';
import type { AppOptions, HttpBounds } from './app-options.ts';
import { KeyedSemaphore } from './concurrency.ts';
import { logFieldsOf, whenClosed } from './observe.ts';
import { DEFAULT_HEADERS, helpLinksOf } from './responses.ts';

export interface ConnectionsOptions
  extends Pick<AppOptions, 'limiter' | 'metrics' | 'logger' | 'accessLogLevel' | 'newRequestId' | 'siteUrl'> {
  readonly bounds: HttpBounds;
  /** A trusted proxy serves many clients, so the maximum of connections from one address does not apply to it. */
  readonly isTrustedProxy: TrustFunction;
}

/** What is known of an open connection. */
interface Connection {
  /** The requests whose responses have not ended. */
  requestsInFlight: number;
  /** The reply to its last request. */
  last: FastifyReply | undefined;
  /** Whether the body of its last request is being read. */
  isReadingBody: boolean;
  /** Whether the parser has refused what came last, so that no other request follows. */
  isBroken: boolean;
  /** Why the rest of the body of its last request cannot be read. */
  bodyRefusal: ApiError | undefined;
  /** How many bytes its reader had taken at each of the last looks, while something was waiting for it. */
  takenBytes: number[];
}

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** The errors of Node's parser; any other is an invalid request. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  [REQUEST_TIMEOUT]: 'request_timeout',
};

/** How long reading continues on a connection after its last response: a reset could otherwise destroy the response. */
const LINGER_MS = 1_000;

/** The share of a connection in the requests that may still be sent ahead. */
const AHEAD_SHARE = 1 / 5;

/** How often readers are looked at within the time after which one that is too slow is cut. */
const READER_LOOKS = 8;

/**
 * The connections of the public listener: how many there are, what each may have in flight, when it is cut, and what is
 * answered to data that never becomes a request.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #helpLinks: ReturnType<typeof helpLinksOf>;
  readonly #open = new Map<Socket, Connection>();
  readonly #ofAddresses = new KeyedSemaphore();
  /** Requests that wait behind another one of their connection. */
  #requestsAhead = 0;
  #isClosing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#helpLinks = helpLinksOf(options.siteUrl);
  }

  /** The number of open connections. */
  get count(): number {
    return this.#open.size;
  }

  /** From now on each response is the last of its connection. */
  beginClosing(): void {
    this.#isClosing = true;
  }

  /** For Fastify's `serverFactory`. */
  createServer(serve: (request: IncomingMessage, response: ServerResponse) => void): Server {
    const { bounds } = this.#options;
    const server = createServer(
      {
        maxHeaderSize: bounds.maxHeaderBytes,
        headersTimeout: bounds.headersTimeoutMs,
        requestTimeout: bounds.requestTimeoutMs,
        keepAliveTimeout: bounds.keepAliveTimeoutMs,
        // The maximum delay of a 408.
        connectionsCheckingInterval: Math.min(1_000, bounds.headersTimeoutMs),
        // We refuse a request without Host ourselves, with an Error object.
        requireHostHeader: false,
        // A request that announces no body goes to its handler without waiting for the end of its stream.
        optimizeEmptyRequests: true,
      },
      (request, response) => {
        if (this.#countOrCut(request, response)) serve(request, response);
      },
    );
    server.maxConnections = bounds.maxConnections;
    server.on('connection', (socket: Socket) => this.#accept(socket));
    // Node would close the connection without a response.
    server.on('connect', (_request, socket: Socket) => {
      socket.on('error', () => socket.destroy()); // Node has removed its own listeners, and its parser
      this.#refuse('invalid_request', socket);
      socket.resume();
    });
    // Node would respond without our headers, to anybody; admission refuses other expectations than the one that is defined.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    return server;
  }

  #accept(socket: Socket): void {
    const peer = socket.remoteAddress ?? '';
    const { bounds, isTrustedProxy } = this.#options;
    if (!isTrustedProxy(peer, 0)) {
      const release = this.#ofAddresses.tryAcquire(networkOf(peer), 1, bounds.maxConnectionsPerAddress);
      if (release === undefined) return void socket.destroy();
      socket.once('close', release);
    }
    this.#open.set(socket, {
      requestsInFlight: 0,
      last: undefined,
      isReadingBody: false,
      isBroken: false,
      bodyRefusal: undefined,
      takenBytes: [],
    });
    socket.once('close', () => this.#open.delete(socket));
  }

  /**
   * Counts a request of a connection. Node makes requests of all that it reads at once, some thousand from 64 kB, and each
   * holds memory until the responses before it have been read. A connection is therefore cut if it has more requests ahead
   * than a fifth of what all connections together may still have: one alone may have some hundred, one of many a few.
   *
   * @returns whether the request is to be served: not if its connection was cut
   */
  #countOrCut({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(socket);
    // What Node had read of a connection before it was cut still becomes requests.
    if (connection === undefined || socket.destroyed) return false;
    const left = this.#options.bounds.maxRequestsAhead - this.#requestsAhead;
    if (connection.requestsInFlight > left * AHEAD_SHARE) {
      socket.destroy();
      return false;
    }
    if (connection.requestsInFlight++ > 0) this.#requestsAhead++;
    response.once('close', () => {
      if (--connection.requestsInFlight > 0) this.#requestsAhead--;
    });
    return true;
  }

  /** Registers the hooks that follow the requests of each connection. */
  readonly plugin = fp(
    async (app) => {
      app.addHook('onRequest', ({ raw }, reply, done) => {
        const connection = this.#open.get(raw.socket);
        if (connection !== undefined) connection.last = reply;
        done();
      });
      app.addHook('preParsing', (_request, reply, payload, done) => {
        const connection = this.#ofLast(reply);
        if (connection !== undefined) connection.isReadingBody = true;
        done(connection?.bodyRefusal, payload);
      });
      app.addHook('preValidation', (_request, reply, done) => {
        const connection = this.#ofLast(reply);
        if (connection !== undefined) connection.isReadingBody = false;
        done();
      });
      app.addHook('onSend', (_request, reply, _payload, done) => {
        const connection = this.#ofLast(reply);
        if (connection !== undefined) connection.isReadingBody = false;
        // A client may send requests ahead. Only its last request ends the connection; with Fastify alone, each of them would.
        if (connection?.isBroken === true) reply.header('connection', 'close');
        else if (this.#isClosing) reply.header('connection', connection === undefined ? 'keep-alive' : 'close');
        done();
      });
      app.addHook('preClose', async () => {
        this.beginClosing();
        if (!app.server.listening) return; // there are no connections
        const { closingGraceMs } = this.#options.bounds;
        await sleep(closingGraceMs);
        // A connection becomes idle only later if its last response began earlier and announced that it stays open.
        const timer = setInterval(() => app.server.closeIdleConnections(), closingGraceMs).unref();
        app.server.once('close', () => clearInterval(timer));
      });
      const { slowReaderTimeoutMs } = this.#options.bounds;
      const timer = setInterval(() => this.#cutSlowReaders(), slowReaderTimeoutMs / READER_LOOKS).unref();
      app.addHook('onClose', async () => clearInterval(timer));
    },
    { name: 'connections' },
  );

  /** @returns the connection of a reply, if it has no later one */
  #ofLast(reply: FastifyReply): Connection | undefined {
    const connection = this.#open.get(reply.request.raw.socket);
    return connection?.last === reply ? connection : undefined;
  }

  /**
   * Cuts the connections whose reader takes too little of its response. They are looked at by a timer: Node's own timeouts
   * would include the time during which this process did not run, as on a machine that was suspended.
   */
  #cutSlowReaders(): void {
    const { bounds, metrics } = this.#options;
    const leastBytes = (bounds.readerMinBytesPerSecond * bounds.slowReaderTimeoutMs) / 1_000;
    for (const [socket, { takenBytes, last }] of this.#open) {
      if (socket.writableLength === 0) {
        takenBytes.length = 0;
        continue;
      }
      const taken = socket.bytesWritten - socket.writableLength;
      takenBytes.push(taken);
      if (takenBytes.length <= READER_LOOKS) continue;
      if (taken - (takenBytes.shift() ?? 0) >= leastBytes) continue;
      last?.log.info(logFieldsOf(last.request), 'a response was cut off: the client read too slowly');
      metrics.countCut('slow_reader');
      socket.destroy();
    }
  }

  /**
   * For Fastify's `clientErrorHandler`. Data that the parser refuses, or that does not arrive in time, gets the Error object
   * and the rate-limit headers of its peer's address, unless the request before it still has a response to come.
   */
  refuse(error: ConnectionError, socket: Socket): void {
    // On a connection without a byte, nothing was requested. A browser that keeps the connection ready would take a 408 for
    // the response to a later request.
    const isUnused = socket.bytesRead === 0;
    if (error.code === 'ECONNRESET' || isUnused) return void socket.destroy();
    this.#refuse(CODES[error.code] ?? 'invalid_request', socket);
  }

  #refuse(code: ErrorCode, socket: Socket): void {
    const connection = this.#open.get(socket);
    if (socket.destroyed || connection === undefined) return void socket.destroy();
    // The parser reports an error again with every chunk.
    if (connection.isBroken) return;
    connection.isBroken = true;
    const { last } = connection;
    if (last === undefined || (last.request.raw.complete && last.raw.closed)) {
      this.#respond(socket, code).catch(() => socket.destroy());
      return;
    }
    // The request has or will have its response, and this connection carries no second one.
    whenClosed(last, () => socket.destroySoon());
    if (last.request.raw.complete) return;
    connection.bodyRefusal = refusalOf(code);
    if (!connection.isReadingBody) return;
    last.request.raw.removeAllListeners('error'); // Fastify would respond once more if the connection is reset
    last.send(connection.bodyRefusal);
  }

  async #respond(socket: Socket, code: ErrorCode): Promise<void> {
    const { limiter, metrics, newRequestId, logger, accessLogLevel } = this.#options;
    const { status, body } = errorResponse(code);
    const { remoteAddress: clientAddress = '' } = socket;
    const decision = await limiter.check(addressSubject(clientAddress), 1);
    metrics.countDecision('address', decision);
    metrics.observeRequest('unknown', status, 0);
    metrics.countError(code);
    const requestId = newRequestId();
    logger[accessLogLevel]({ requestId, clientAddress, status, errorCode: code }, 'request completed');
    const limitHeaders = rateLimitHeaders(decision);
    delete limitHeaders['retry-after']; // the same data will never become a request
    const headers = {
      date: new Date().toUTCString(),
      ...DEFAULT_HEADERS,
      'x-request-id': requestId,
      link: this.#helpLinks[code],
      ...limitHeaders,
      'content-type': 'application/json',
      'content-length': body.length,
      connection: 'close',
    };
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    if (!socket.writable) return;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}\r\n${body}`);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  }
}
