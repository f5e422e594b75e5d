import type { ApiVersion, Authenticator, Services } from '@petstore/api';
import type { RateLimiter } from '@petstore/rate-limit';
import type { Reference } from '@petstore/reference';
import type { Logger } from 'pino';
import type { HttpMetrics } from '../operations/metrics.ts';
import type { TrustedProxies } from './address.ts';

/** The OpenAPI document as text. */
export interface RenderedDocument {
  readonly json: string;
  yaml(): Promise<string>;
}

/** The bounds of requests and connections. They suit a service with or without a proxy in front of it. */
export const DEFAULT_BOUNDS = {
  /** All header fields and the request line together; beyond that the response is 431. */
  maxHeaderBytes: 16_384,
  /** The body of a tRPC request; beyond that the response is 413. */
  maxBodyBytes: 65_536,
  /** The time for the header fields to arrive; after that the response is 408. */
  headersTimeoutMs: 10_000,
  /** The time for the whole request to arrive; after that the response is 408. */
  requestTimeoutMs: 30_000,
  /** The least that the reader of a response takes, as an average, while something waits for it. */
  readerMinBytesPerSecond: 1_000,
  /** The time over which that average is taken; then a slower reader is cut. */
  slowReaderTimeoutMs: 120_000,
  /** How long a connection may wait for its next request: longer than common proxies keep it, such as Caddy for 120 s. */
  keepAliveTimeoutMs: 125_000,
  /** Requests in flight at once, including responses that are being sent; further ones get 503 `overloaded`. */
  maxRequestsInFlight: 5_000,
  /** How many of them may be of callers without a key that the process knows; further ones get 503 `overloaded`. */
  maxRequestsInFlightWithoutKey: 2_000,
  /** How many of those are left to keys that are being looked up, which may be valid. */
  requestsInFlightForLookUps: 500,
  /** Requests that clients have sent ahead on all connections together, of which one may have a fifth of what is left. */
  maxRequestsAhead: 5_000,
  /** Long lists being sent at once, each of which holds up to two batches; further ones get 503 `overloaded`. */
  maxLongLists: 200,
  /** Calls that wait at once, in addition to the requests in flight; further ones are answered without a wait. */
  maxWaitingCalls: 2_000,
  /** Open connections at once; further ones are closed immediately. */
  maxConnections: 10_000,
  /** Open connections at once from one address (IPv6: one /64) that is no trusted proxy. */
  maxConnectionsPerAddress: 2_500,
  /** How long a closing server continues to read requests that clients have already sent. */
  closingGraceMs: 100,
};

export type HttpBounds = Readonly<typeof DEFAULT_BOUNDS>;

/** The dependencies and settings of the public listener. */
export interface AppOptions {
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  /** The level at which each request is logged. */
  readonly accessLogLevel: 'info' | 'debug';
  readonly metrics: HttpMetrics;
  /** Called at the first request for each text, because the port is known only after listening has begun. */
  readonly renderDocument: (version: ApiVersion) => RenderedDocument;
  /** The pages below `/docs`. */
  readonly reference: Reference;
  /** What callers put before `/docs`, such as `https://api.shop.example`; empty: whatever they sent their request to. */
  readonly siteUrl: string;
  /** Renders `/.well-known/security.txt` of the present day; `undefined` if that path does not exist. */
  readonly renderSecurityText: () => string | undefined;
  /** Whether PostgreSQL was reached at the last check. If it was not, requests without a known key get 503. */
  readonly isStorageAvailable: () => boolean;
  /** By which the age of the limits in a response is measured, in milliseconds; `performance.now` in production. */
  readonly monotonicNowMs: () => number;
  /** Makes a unique id; `randomUUID` in production. */
  readonly newRequestId: () => string;
  /** The origins from which browsers may call, as they write them, such as `https://shop.example`. */
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: TrustedProxies;
  readonly bounds?: Partial<HttpBounds>;
}
