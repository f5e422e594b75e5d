import pg from 'pg';
import { codeOf, HUNG, READ_ONLY, SQLSTATE, storageUnavailable } from './errors.ts';
import { assertSessionStays, readIsReadOnly, TYPES } from './session.ts';
import { type ResponseTimeouts, TIMEOUTS_MS, withDeadline } from './timeouts.ts';

/** A server of the database, and an open connection to it. */
export interface FoundServer {
  readonly url: string;
  /** Whether the server takes no writes, because it is a standby or was made read-only. */
  readonly isReadOnly: boolean;
  /** Has an `error` listener: a lost connection only fails the statements on it. */
  readonly client: pg.Client;
}

/** The configuration of a connection to one server. */
export const connectionConfig = (url: string, { abandonedConnect }: ResponseTimeouts): pg.ClientConfig => ({
  connectionString: url,
  fallback_application_name: 'petstore',
  keepAlive: true,
  connectionTimeoutMillis: abandonedConnect,
});

/** The servers of one database, of which at most one takes writes. */
export class DatabaseServers {
  readonly #urls: readonly string[];
  readonly timeouts: ResponseTimeouts;
  /** The servers whose connections are known to keep their sessions. */
  readonly #checked = new Set<string>();

  /** @param urls one URL for each server */
  constructor(urls: string | readonly string[], timeouts: ResponseTimeouts) {
    this.timeouts = timeouts;
    this.#urls = typeof urls === 'string' ? [urls] : urls;
  }

  /**
   * Queries all servers at once, and returns the first that takes writes; if none does, one that can be read.
   *
   * @param preferredUrl the server that is in use, to read from if several servers take no writes
   * @throws StorageUnavailableError if no server can be used, or if none takes writes and the preferred one has no room for
   *   another connection: it may take writes on the open ones
   */
  async find(preferredUrl?: string): Promise<FoundServer> {
    const queried = this.#urls.map((url) => queryServer(url, this.timeouts));
    const writable = queried.map(async (server) => {
      const found = await server;
      if (found.isReadOnly) throw READ_ONLY;
      return found;
    });
    let found: FoundServer | undefined;
    try {
      const server = await Promise.any(writable).catch(() => this.#readOnlyAmong(queried, preferredUrl));
      await this.#checkSessions(server);
      found = server;
      return found;
    } finally {
      for (const server of queried) {
        server.then(
          (other) => void (other !== found && endClient(other.client)),
          () => {}, // reported only if no server was found
        );
      }
    }
  }

  async #readOnlyAmong(queried: readonly Promise<FoundServer>[], preferredUrl?: string): Promise<FoundServer> {
    const results = await Promise.allSettled(queried);
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const refusals = results.map((result): unknown => (result.status === 'rejected' ? result.reason : undefined));
    const refusal = refusals[this.#urls.indexOf(preferredUrl ?? '')];
    if (codeOf(refusal) === SQLSTATE.tooManyConnections) throw storageUnavailable(refusal);
    const server = found.find(({ url }) => url === preferredUrl) ?? found[0];
    if (server !== undefined) return server;
    throw storageUnavailable(refusals.length === 1 ? refusals[0] : new AggregateError(refusals));
  }

  /** A pooler may lend a session for one transaction only; its settings and prepared statements are then lost. */
  async #checkSessions({ url, client }: FoundServer): Promise<void> {
    if (this.#checked.has(url)) return;
    const other = newClient(url, this.timeouts);
    const check = async () => {
      await other.connect();
      await assertSessionStays(client, other);
    };
    try {
      await withDeadline(check(), this.timeouts.sessionCheck, HUNG);
      this.#checked.add(url);
    } finally {
      void endClient(other);
    }
  }
}

async function queryServer(url: string, timeouts: ResponseTimeouts): Promise<FoundServer> {
  const client = newClient(url, timeouts);
  const query = async (): Promise<FoundServer> => {
    await client.connect();
    return { url, isReadOnly: await readIsReadOnly(client), client };
  };
  try {
    return await withDeadline(query(), timeouts.find, HUNG);
  } catch (error) {
    void endClient(client);
    throw error;
  }
}

function newClient(url: string, timeouts: ResponseTimeouts): pg.Client {
  const client = new pg.Client({ ...connectionConfig(url, timeouts), types: TYPES });
  client.on('error', () => {}); // the statement in progress fails as well
  return client;
}

/** Ends a connection. Resolves when it has ended, or when it is left to a server that hangs. */
export async function endClient(client: pg.Client): Promise<void> {
  await withDeadline(client.end(), TIMEOUTS_MS.end, HUNG).catch(() => {});
}
