import type pg from 'pg';
import { type DatabaseServers, endConnection, type OpenOptions } from '../connections/database-servers.ts';
import type { SessionSettings } from '../connections/session.ts';

/**
 * Opens one connection of a pool, ready for statements.
 *
 * @param onLost called when the connection is lost or closed, or is not to be used any more
 * @throws StorageUnavailableError
 */
export type OpenConnection = (onLost: () => void) => Promise<pg.Client>;

/** How long what is under way on a connection that is not to be used any more may take, in milliseconds. */
const RETIRE_TIMEOUT_MS = 7_000;

/** How often a server that takes writes is looked for while none was found, in milliseconds. */
const LOOK_INTERVAL_MS = 1_000;

/** What a server reports of itself when it changes. */
const READ_ONLY_PARAMETERS = new Set(['in_hot_standby', 'default_transaction_read_only']);

/**
 * Opens the connections of a store's pools. A connection ends when its server turns out not to be the one that takes
 * writes: what is read from another may be older than what was acknowledged.
 */
export class ConnectionOpener {
  readonly #servers: DatabaseServers;
  /** What ends each connection to a server that takes no writes. */
  readonly #readOnly = new Set<() => void>();
  #lookTimer: NodeJS.Timeout | undefined;

  constructor(servers: DatabaseServers) {
    this.#servers = servers;
  }

  /** For connections on which statements are sent without waiting for the results of those before. */
  pipelined(options: Pick<OpenOptions, 'session' | 'forWrites'>): OpenConnection {
    return async (onLost) => {
      const { client, isReadOnly } = await this.#servers.open({ ...options, pipeline: true });
      const retire = (): void => {
        onLost();
        endConnection(client, RETIRE_TIMEOUT_MS);
      };
      const forget = (): void => {
        this.#readOnly.delete(retire);
        onLost();
      };
      client.on('error', forget);
      client.on('end', forget);
      if (isReadOnly) this.#useReadOnly(retire);
      else retireWhenReadOnly(client, retire);
      return client;
    };
  }

  #useReadOnly(retire: () => void): void {
    this.#readOnly.add(retire);
    this.#lookTimer ??= setTimeout(() => void this.#lookForWritable(), LOOK_INTERVAL_MS).unref();
  }

  async #lookForWritable(): Promise<void> {
    if (this.#readOnly.size > 0) {
      await this.#servers.open({ session: {}, forWrites: true }).then(
        ({ client }) => {
          endConnection(client);
          for (const retire of this.#readOnly) retire();
          this.#readOnly.clear();
        },
        () => {}, // there is none yet
      );
    }
    const isDone = this.#readOnly.size === 0;
    this.#lookTimer = isDone ? undefined : setTimeout(() => void this.#lookForWritable(), LOOK_INTERVAL_MS).unref();
  }
}

/** For connections to a standby, which stay when it is promoted: each read looks what its server is. */
export const pipelinedToReplica =
  (servers: DatabaseServers, session: SessionSettings): OpenConnection =>
  async (onLost) => {
    const { client } = await servers.open({ session, forWrites: false, pipeline: true });
    client.on('error', onLost);
    client.on('end', onLost);
    return client;
  };

function retireWhenReadOnly(client: pg.Client, retire: () => void): void {
  client.connection.on('parameterStatus', (report: { parameterName: string; parameterValue: string }) => {
    if (READ_ONLY_PARAMETERS.has(report.parameterName) && report.parameterValue === 'on') retire();
  });
}
