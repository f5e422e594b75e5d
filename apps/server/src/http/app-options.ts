import type { ApiVersion, AppRouter, Authenticator, RestRoute, Services } from '@petstore/api';
import type { ApiKeyId } from '@petstore/domain';
import type { RateLimiter } from '@petstore/rate-limit';
import type { Logger } from 'pino';
import type { TrustedProxies } from './client-address.ts';

/** Told of each request once it is answered. Called on every request's path, so it must be cheap and never throw. */
export interface RequestMetrics {
  /**
   * @param operation an operation id, a procedure's name, or one of a few fixed names: never a URL
   * @param status the HTTP status that was answered
   */
  observeRequest(operation: string, status: number, durationSeconds: number): void;
  /**
   * Called besides for an operation that is deprecated, whatever was answered.
   *
   * @param operation an operation id
   * @param keyId who used it; left out where there was no valid key
   */
  observeDeprecatedUse(operation: string, keyId?: ApiKeyId): void;
}

/** The OpenAPI document as text. */
export interface RenderedDocument {
  readonly json: string;
  readonly yaml: string;
}

/** What bounds a request. The defaults suit a service behind a proxy or on its own. */
export interface HttpBounds {
  /** For all header fields and the request line together; more is 431. @default 16384 */
  readonly maxHeaderBytes: number;
  /** For the body of a tRPC request; more is 413. @default 65536 */
  readonly maxBodyBytes: number;
  /** Until the header fields have come; later is 408. @default 10000 */
  readonly headersTimeoutMs: number;
  /** Until the whole request has come; later is 408. @default 30000 */
  readonly requestTimeoutMs: number;
  /** How long a connection may lie still while an answer is due or being read; then it is cut. @default 120000 */
  readonly stalledTimeoutMs: number;
  /** How long a connection may wait for its next request. Longer than the usual proxy's 60 s. @default 72000 */
  readonly keepAliveTimeoutMs: number;
  /** Requests at work at once, answers that are being sent included; more are 503 `overloaded`, whoever asks. @default 5000 */
  readonly maxRequestsInFlight: number;
  /** Lists being sent in pieces at once, each of which holds up to two batches; more are 503 `overloaded`. @default 200 */
  readonly maxStreams: number;
  /** Open connections at once; more are closed as they come. @default 10000 */
  readonly maxConnections: number;
  /** Of these, from one address (IPv6: one /64) that is no proxy of ours. @default 2500 */
  readonly maxConnectionsPerAddress: number;
  /** Requests that wait on their connections for the answers before them; whoever sends more is cut off. @default 50000 */
  readonly maxWaiting: number;
  /** Of these, from one address (IPv6: one /64) that is no proxy of ours. @default 5000 */
  readonly maxWaitingPerAddress: number;
  /** How long the reader of an answer in pieces may take nothing; then it is cut. @default 30000 */
  readonly idleReaderMs: number;
  /** How long a reader may take for 64 kB of an answer in pieces; then it is cut. @default 60000 */
  readonly slowReaderMs: number;
  /** How long an ending server goes on reading what clients had already sent. @default 100 */
  readonly closingGraceMs: number;
}

export const DEFAULT_BOUNDS: HttpBounds = {
  maxHeaderBytes: 16_384,
  maxBodyBytes: 65_536,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  stalledTimeoutMs: 120_000,
  keepAliveTimeoutMs: 72_000,
  maxRequestsInFlight: 5_000,
  maxStreams: 200,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 2_500,
  maxWaiting: 50_000,
  maxWaitingPerAddress: 5_000,
  idleReaderMs: 30_000,
  slowReaderMs: 60_000,
  closingGraceMs: 100,
};

/** What the public listener is made of. */
export interface AppOptions {
  readonly router: AppRouter;
  readonly restRoutes: readonly RestRoute[];
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  /** Called once, when somebody asks for the document: the servers that it names are known only after listening. */
  readonly renderDocument: (version: ApiVersion) => RenderedDocument;
  /** What `/.well-known/security.txt` says. Left out: there is none. */
  readonly securityText?: string | undefined;
  /** Whether PostgreSQL could be reached when last looked. While not, whoever has no known key gets 503. */
  readonly isStorageAvailable: () => boolean;
  /** Makes an id that no other request has; `randomUUID` in production. */
  readonly newRequestId: () => string;
  /** Origins that browsers may call from. */
  readonly corsOrigins: readonly string[];
  readonly trustedProxies: TrustedProxies;
  readonly bounds?: Partial<HttpBounds>;
}
