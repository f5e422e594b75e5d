import type { ClientConfig } from 'pg';

/** How long opening may take from the first packet until the session is ready for statements, in milliseconds. */
export const OPEN_TIMEOUT_MS = 2_000;

/** How long the server works on one statement at most, in milliseconds, before it gives the statement up: on a search. */
export const STATEMENT_TIMEOUT_MS = 5_000;

/** The same for all other statements of requests, whose callers have a response within 3 s. */
export const SHORT_STATEMENT_TIMEOUT_MS = 2_000;

/** The configuration of a connection to a server. What its session is to be follows by a statement. */
export const connectionConfig = (url: string): ClientConfig => ({
  connectionString: url,
  fallback_application_name: 'petstore',
  connectionTimeoutMillis: OPEN_TIMEOUT_MS,
  keepAlive: true,
});
