import type { ApiVersion, AppRouter, Authenticator, ErrorCode, RestRoute, Services } from '@petstore/api';
import type { ApiKeyId, PlanName } from '@petstore/domain';
import type { RateLimitDecision, RateLimiter, RateLimitRefusal } from '@petstore/rate-limit';
import type { Logger } from 'pino';
import type { TrustedProxies } from './address.ts';

/** Counts each request after its response was sent. It runs for every request, so it must be cheap and never throw. */
export interface RequestMetrics {
  /**
   * @param operation an operation id, a procedure's name, or one of a few fixed names; never a URL
   * @param status the HTTP status of the response
   */
  observeRequest(operation: string, status: number, durationSeconds: number): void;
  /**
   * Also called for every request of a deprecated operation, whatever the response.
   *
   * @param operation an operation id
   * @param keyId the key of the request; left out if it had no valid key
   */
  observeDeprecatedUse(operation: string, keyId?: ApiKeyId): void;
  /** Called once for each failure that is reported to a caller. A batch may report several. */
  countError(code: ErrorCode): void;
  /** Called for a response that began and was not completed, unless its client left. */
  countCut(reason: CutReason): void;
}

/** Why a response was cut: its source failed, or its reader read nothing. */
export type CutReason = 'failed' | 'slow_reader';

/** What is in flight on the public listener. */
export interface Traffic {
  /** From now on each response is the last of its connection. */
  beginClosing(): void;
  countConnections(): number;
  /** Those that were admitted, responses that are being sent included, but not subscriptions. */
  countRequests(): number;
  countLongLists(): number;
}

/** Whose limit decided: a key's, named by its plan, or an address's for requests without a valid key. */
export type LimitedCaller = PlanName | 'address';

/** The parts of a decision that are counted. */
export type CountedDecision = { readonly outcome: 'admitted' } | RateLimitDecision;

/** The error code of each refusal by the limits. */
export const REFUSAL_CODES = {
  refused: 'rate_limit_exceeded',
  banned: 'api_key_banned',
} as const satisfies Record<RateLimitRefusal['outcome'], ErrorCode>;

/** Counts each decision of the limits once. It runs for every request, so it must be cheap and never throw. */
export interface DecisionMetrics {
  countDecision(caller: LimitedCaller, decision: CountedDecision): void;
  /** Called instead of {@link countDecision} if this process remembers a refusal that makes a check unnecessary. */
  countRemembered(caller: LimitedCaller, refusal: RateLimitRefusal): void;
}

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
  /** How long a connection may wait for its next request: longer than the 60 s of most proxies. */
  keepAliveTimeoutMs: 72_000,
  /** Admitted requests in flight at once, including responses that are being sent; further ones get 503 `overloaded`. */
  maxRequestsInFlight: 5_000,
  /** How many of them may be of callers without a key that the process knows; further ones get 503 `overloaded`. */
  maxRequestsInFlightWithoutKey: 2_000,
  /** Requests that clients have sent ahead on all connections together, beyond which the bound below applies. */
  maxRequestsAhead: 1_000,
  /** Requests sent ahead on one connection; it is cut if it has more while all together have more than the bound above. */
  maxRequestsAheadPerConnection: 100,
  /** Long lists being sent at once, each of which holds up to two batches; further ones get 503 `overloaded`. */
  maxLongLists: 200,
  /** Subscriptions at once, in addition to the requests in flight; further ones get 503 `overloaded`. */
  maxSubscriptions: 5_000,
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
  readonly router: AppRouter;
  readonly restRoutes: readonly RestRoute[];
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  /** The level at which each request is logged. */
  readonly accessLogLevel: 'info' | 'debug';
  readonly metrics: RequestMetrics & DecisionMetrics;
  /**
   * Called once for each place, at the first request, because the port is known only after listening has begun.
   *
   * @param place `alone` for the document itself, `reference` for the reference, whose examples need absolute URLs
   */
  readonly renderDocument: (version: ApiVersion, place: 'alone' | 'reference') => RenderedDocument;
  /** The text of `/.well-known/security.txt`; without it, that path does not exist. */
  readonly securityText?: string | undefined;
  /** Whether PostgreSQL was reached at the last check. If it was not, requests without a known key get 503. */
  readonly isStorageAvailable: () => boolean;
  /** Makes a unique id; `randomUUID` in production. */
  readonly newRequestId: () => string;
  /** The origins from which browsers may call. */
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: TrustedProxies;
  readonly bounds?: Partial<HttpBounds>;
}
