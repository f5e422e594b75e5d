import type { ClientConfig } from 'pg';

/** How long opening may take from the first packet until the session is ready for statements, in milliseconds. */
export const OPEN_TIMEOUT_MS = 2_000;

/** How long the server works on one statement of a request at most, in milliseconds, before it gives the statement up. */
export const STATEMENT_TIMEOUT_MS = 2_000;

/**
 * The same for a search. Nothing distinguishes one that works from one whose process on the server is frozen, so it has no
 * longer than leaves its caller a response within 3 s.
 */
export const SEARCH_TIMEOUT_MS = 2_500;

/** The configuration of a connection to a server. What its session is to be follows by a statement. */
export const connectionConfig = (url: string): ClientConfig => ({
  connectionString: url,
  fallback_application_name: 'petstore',
  keepAlive: true,
});
