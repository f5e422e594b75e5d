import type { ClientConfig } from 'pg';

/** How long a connection may take from the first packet until it is ready for statements, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;

/** How long the server works on one statement at most, in milliseconds, before it gives the statement up: on a search. */
export const STATEMENT_TIMEOUT_MS = 5_000;

/** The same for all other statements of requests, whose callers have a response within 3 s. */
export const SHORT_STATEMENT_TIMEOUT_MS = 2_000;

/** What every session is set to: the text of times is parsed, and the conditional updates count on READ COMMITTED. */
const SESSION = '-c TimeZone=UTC -c DateStyle=ISO -c default_transaction_isolation=read\\ committed';

/**
 * The configuration of a connection to the database.
 *
 * @param statementTimeoutMs when the server gives a statement up; 0 never
 */
export function connectionConfig(databaseUrl: string, statementTimeoutMs: number): ClientConfig {
  return {
    connectionString: withSessionOptions(databaseUrl, `${SESSION} -c statement_timeout=${statementTimeoutMs}`),
    fallback_application_name: 'petstore',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  };
}

/** Options in the URL would replace those given beside it, so ours are put behind them. */
export function withSessionOptions(databaseUrl: string, options: string): string {
  const url = new URL(databaseUrl);
  const own = url.searchParams.get('options');
  url.searchParams.set('options', own === null ? options : `${own} ${options}`);
  return url.href;
}
