import pg from 'pg';
import { HUNG, storageUnavailable } from './errors.ts';
import { withDeadline } from './in-time.ts';
import { TYPES } from './session.ts';
import { TIMEOUTS_MS } from './timeouts.ts';

/** The configuration of every connection. The name of a host is resolved for each, so a new one follows a moved address. */
export const connectionConfig = (url: string, connectTimeoutMs: number): pg.ClientConfig => ({
  connectionString: url,
  fallback_application_name: 'petstore',
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: TIMEOUTS_MS.keepAlive,
  // Of the URL's parameter, pg knows nothing. It binds the login to the certificate if PostgreSQL offers it.
  enableChannelBinding: ['require', 'prefer'].includes(new URL(url).searchParams.get('channel_binding') ?? ''),
  types: TYPES,
});

/**
 * Opens a connection outside of the pool. If it is lost, the statement in progress fails.
 *
 * @throws StorageUnavailableError
 */
export async function openClient(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw storageUnavailable(error);
  });
  return client;
}

/** Ends a connection. Resolves when it has ended, or when it is left to a server that hangs. */
export async function endClient(client: pg.Client): Promise<void> {
  await withDeadline(client.end(), TIMEOUTS_MS.end, HUNG).catch(() => {});
}
