import type pg from 'pg';
import { type DatabaseServers, endConnection, type OpenOptions } from '../connections/database-servers.ts';
import { storageUnavailable } from '../storage-error.ts';

/**
 * Opens one connection of a pool, ready for statements.
 *
 * @param onLost called when the connection is lost or closed, or is not to be used any more
 * @throws StorageUnavailableError
 */
export type OpenConnection = (onLost: () => void) => Promise<pg.Client>;

/** How often a server that takes writes is looked for while none was found, in milliseconds. */
const SEARCH_INTERVAL_MS = 1_000;

/** What a server reports of itself when it changes. */
const READ_ONLY_PARAMETERS = new Set(['in_hot_standby', 'default_transaction_read_only']);

/** Lets no further statement onto a connection. Done when those under way are complete or cut off. */
type Retire = () => Promise<void>;

/**
 * Opens the connections of a store's pools. All of them lead to a server that takes writes or, where none was found, none
 * of them does: what is read from a standby may be older than what was acknowledged.
 */
export class ConnectionOpener {
  readonly #servers: DatabaseServers;
  /** With the server that each leads to, by host and port. */
  readonly #writable = new Map<Retire, string>();
  readonly #readOnly = new Map<Retire, string>();
  /** How often a server that takes writes was found. */
  #foundCount = 0;
  #searchTimer: NodeJS.Timeout | undefined;

  constructor(servers: DatabaseServers) {
    this.#servers = servers;
  }

  /** For connections on which statements are sent without waiting for the results of those before. */
  pipelined(options: Pick<OpenOptions, 'session' | 'forWrites'>): OpenConnection {
    return async (onLost) => {
      // One that takes writes is looked for meanwhile. To find none may take seconds, which no caller has.
      if (options.forWrites && this.#readOnly.size > 0) throw storageUnavailable('it is read-only');
      for (;;) {
        const foundCount = this.#foundCount;
        const { client, isReadOnly } = await this.#servers.open({ ...options, pipeline: true });
        if (!isReadOnly) {
          this.#foundCount++;
          void retireAll(this.#readOnly);
          const retire = hold(client, this.#writable, onLost);
          onReadOnly(client, () => void retire());
          return client;
        }
        // Those at another server still take writes, or lose their connections when it does not any more.
        if ([...this.#writable.values()].some((server) => server !== serverOf(client))) {
          void endConnection(client);
          throw storageUnavailable('the server that takes writes accepts no further connection');
        }
        await retireAll(this.#writable);
        if (this.#foundCount === foundCount) {
          hold(client, this.#readOnly, onLost);
          this.#searchTimer ??= this.#searchLater();
          return client;
        }
        void endConnection(client); // what takes writes was found meanwhile
      }
    };
  }

  #searchLater(): NodeJS.Timeout {
    return setTimeout(async () => {
      if (this.#readOnly.size > 0 && (await this.#hasWritable())) void retireAll(this.#readOnly);
      this.#searchTimer = this.#readOnly.size > 0 ? this.#searchLater() : undefined;
    }, SEARCH_INTERVAL_MS).unref();
  }

  async #hasWritable(): Promise<boolean> {
    try {
      const { client } = await this.#servers.open({ session: {}, forWrites: true });
      void endConnection(client);
      return true;
    } catch {
      return false;
    }
  }
}

/** Keeps account of a connection until it ends. */
function hold(client: pg.Client, held: Map<Retire, string>, onLost: () => void): Retire {
  const forget = (): void => {
    held.delete(retire);
    onLost();
  };
  const retire = (): Promise<void> => {
    forget();
    return endConnection(client);
  };
  held.set(retire, serverOf(client));
  client.on('error', forget);
  client.on('end', forget);
  return retire;
}

const serverOf = ({ host, port }: pg.Client): string => `${host}:${port}`;

const retireAll = (held: ReadonlyMap<Retire, string>): Promise<unknown> =>
  Promise.all([...held.keys()].map((retire) => retire()));

function onReadOnly(client: pg.Client, act: () => void): void {
  client.connection.on('parameterStatus', (report: { parameterName: string; parameterValue: string }) => {
    if (READ_ONLY_PARAMETERS.has(report.parameterName) && report.parameterValue === 'on') act();
  });
}
