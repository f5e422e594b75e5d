import type { ApiVersion, AppRouter, Authenticator, ErrorCode, RestRoute, Services } from '@petstore/api';
import type { ApiKeyId, PlanName } from '@petstore/domain';
import type { RateLimitDecision, RateLimiter, RateLimitRefusal } from '@petstore/rate-limit';
import type { Logger } from 'pino';
import type { TrustedProxies } from './client-address.ts';

/** Counts each request once its response was sent. On every request's path, so it must be cheap and never throw. */
export interface RequestMetrics {
  /**
   * @param operation an operation id, a procedure's name, or one of a few fixed names: never a URL
   * @param status the HTTP status of the response
   */
  observeRequest(operation: string, status: number, durationSeconds: number): void;
  /**
   * Called besides for a deprecated operation, whatever its response.
   *
   * @param operation an operation id
   * @param keyId the key that used it; left out if there was no valid key
   */
  observeDeprecatedUse(operation: string, keyId?: ApiKeyId): void;
  /** Called once for each failure that is reported to a caller; in a batch there may be several. */
  countError(code: ErrorCode): void;
  /** Called for a response that began and was not sent whole, unless its client left. */
  countCut(reason: CutReason): void;
}

/** Why a response was cut: what it is made of could not be read, or its reader took nothing of it. */
export type CutReason = 'failed' | 'slow_reader';

/** What is in flight on the public listener at the moment of the call. */
export interface HttpLoad {
  countConnections(): Promise<number>;
  /** Responses that are being sent included, subscriptions not. */
  countRequests(): number;
  countLongLists(): number;
}

/** Whose limit decided: that of a key, by its plan, or that of an address, for requests without a valid key. */
export type LimitedCaller = PlanName | 'address';

/** As much of a decision as is counted. */
export type CountedDecision = { readonly outcome: 'admitted' } | RateLimitDecision;

/** What a caller is told that the limits refuse. */
export const REFUSAL_CODES = {
  refused: 'rate_limit_exceeded',
  banned: 'api_key_banned',
} as const satisfies Record<RateLimitRefusal['outcome'], ErrorCode>;

/** Counts what limits decide, once for each request. On every request's path, so it must be cheap and never throw. */
export interface DecisionMetrics {
  countDecision(caller: LimitedCaller, decision: CountedDecision): void;
  /** Called in place of {@link countDecision} if a refusal that this process remembers made a check needless. */
  countRemembered(caller: LimitedCaller, refusal: RateLimitRefusal): void;
}

/** The OpenAPI document as text. */
export interface RenderedDocument {
  readonly json: string;
  yaml(): Promise<string>;
}

/** The bounds of requests and connections. They suit a service behind a proxy or on its own. */
export const DEFAULT_BOUNDS = {
  /** For all header fields and the request line together; more is 431. */
  maxHeaderBytes: 16_384,
  /** For the body of a tRPC request; more is 413. */
  maxBodyBytes: 65_536,
  /** Until the header fields have come; later is 408. */
  headersTimeoutMs: 10_000,
  /** Until the whole request has come; later is 408. */
  requestTimeoutMs: 30_000,
  /** How long a client may take nothing of what it is sent; then it is cut. Counted in steps: see plugins/stalled-readers.ts. */
  stalledTimeoutMs: 120_000,
  /** How long a connection may wait for its next request. Longer than the usual proxy's 60 s. */
  keepAliveTimeoutMs: 72_000,
  /** Requests in flight at once, responses that are being sent included; more are 503 `overloaded` to every caller. */
  maxRequestsInFlight: 5_000,
  /** Long lists being sent at once, each of which holds up to two batches; more are 503 `overloaded`. */
  maxLongLists: 200,
  /** Subscriptions at once, besides the requests in flight; more are 503 `overloaded`. */
  maxSubscriptions: 5_000,
  /** Open connections at once; more are closed as they come. */
  maxConnections: 10_000,
  /** Of these, from one address (IPv6: one /64) that is no trusted proxy. */
  maxConnectionsPerAddress: 2_500,
  /** How long a closing server goes on reading what clients had already sent. */
  closingGraceMs: 100,
};

export type HttpBounds = Readonly<typeof DEFAULT_BOUNDS>;

/** What the public listener is made of. */
export interface AppOptions {
  readonly router: AppRouter;
  readonly restRoutes: readonly RestRoute[];
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  /** At which level each request is a line of the log. @default debug */
  readonly accessLogLevel?: 'info' | 'debug';
  readonly metrics: RequestMetrics;
  readonly decisions: DecisionMetrics;
  /**
   * Called once for each place, with the first request: the port is known only after listening.
   *
   * @param place whether the document stands by itself, or is shown in the reference, whose examples need whole URLs
   */
  readonly renderDocument: (version: ApiVersion, place: 'alone' | 'reference') => RenderedDocument;
  /** The text of `/.well-known/security.txt`. Left out: there is none. */
  readonly securityText?: string | undefined;
  /** Whether PostgreSQL could be reached at the last check. While not, requests without a known key get 503. */
  readonly isStorageAvailable: () => boolean;
  /** Makes an id that no other request has; `randomUUID` in production. */
  readonly newRequestId: () => string;
  /** Origins that browsers may call from. */
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: TrustedProxies;
  readonly bounds?: Partial<HttpBounds>;
}
