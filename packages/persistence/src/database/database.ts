import { LaneClosedError } from './lane.ts';
import { type Call, needsWrites, type Purpose, ServerPool } from './server-pool.ts';
import { type Availability, ServerWatch } from './server-watch.ts';
import type { DatabaseServers } from './servers.ts';
import type { DurationObserver, Field, PreparedStatement, QuerySender, StatementValue } from './statement.ts';
import { READ_ONLY, storageUnavailable, TOO_LATE, toStorageError } from './storage-error.ts';
import { withTimeout } from './with-timeout.ts';

/** How long a caller waits for a statement, including the wait for a connection, in milliseconds. */
const PATIENCE_MS = 2_400;

export interface DatabaseOptions {
  readonly servers: DatabaseServers;
  /** The maximum number of connections for all statements together. */
  readonly connections: number;
  readonly durationsOf?: ((purpose: Purpose) => DurationObserver) | undefined;
}

/** Runs statements on the server that takes writes. A watch knows which server that is, and whether it can be used. */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #watch: ServerWatch;
  /** For each call in progress, a function that rejects it. */
  readonly #underWay = new Set<(failure: Error) => void>();
  #pool: ServerPool | undefined;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#watch = new ServerWatch(
      options.servers,
      (url) => this.#usePool(url),
      (failure) => this.#giveUpAll(failure),
    );
  }

  get openConnections(): number {
    return this.#pool?.openConnections ?? 0;
  }

  /** The number of statements of a purpose that wait for a connection or a response. */
  inFlight(purpose: Purpose): number {
    return this.#pool?.inFlight(purpose) ?? 0;
  }

  /**
   * Checks by a ping whether PostgreSQL can be used now.
   *
   * @throws StorageUnavailableError
   */
  async ping(): Promise<{ readonly isReadOnly: boolean }> {
    this.#assertOpen();
    await this.#watch.check();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
    const pool = this.#pool;
    if (pool?.hasNoRoom) await this.#within((call) => pool.tryConnection(call));
    return { isReadOnly: this.#watch.state === 'read-only' };
  }

  /** @param observer called after each check of PostgreSQL */
  observe(observer: (seen: Availability) => void): void {
    this.#watch.observe(observer);
  }

  /** Returns the sender for statements of a purpose. */
  sender(purpose: Purpose): QuerySender {
    const durations = this.#options.durationsOf?.(purpose);
    return {
      run: (statement, values) => {
        const beganMs = performance.now();
        const rows = this.#within((call) => this.#run(purpose, call, statement, values));
        if (durations === undefined) return rows;
        return rows.finally(() => durations.observe((performance.now() - beganMs) / 1_000));
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#watch.close();
    await this.#pool?.close();
  }

  async #run<Row extends readonly Field[]>(
    purpose: Purpose,
    call: Call,
    statement: PreparedStatement<Row>,
    values: readonly StatementValue[],
  ): Promise<readonly Row[]> {
    while (!call.isGivenUp) {
      const pool = await this.#usablePool(purpose);
      try {
        const rows = await pool.run(purpose, call, statement, values);
        if (rows !== undefined) return rows;
      } catch (error) {
        // Another server took over while the call was waiting for a connection.
        if (!(error instanceof LaneClosedError)) throw error;
      }
    }
    throw TOO_LATE;
  }

  /** @throws StorageUnavailableError at once while PostgreSQL is known to be away, hung or, for writes, read-only */
  async #usablePool(purpose: Purpose): Promise<ServerPool> {
    this.#assertOpen();
    // A server that refuses connections does so at once, so the first call after it is back can check and succeed.
    if (this.#watch.state === undefined || this.#watch.state === 'away') await this.#watch.check();
    this.#assertOpen();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
    if (needsWrites(purpose) && this.#watch.state === 'read-only') throw READ_ONLY;
    if (this.#pool === undefined) throw new Error('the watch names a server before it says that one can be used');
    return this.#pool;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw storageUnavailable('this process has closed its connections');
  }

  /** Rejects after a time, or when PostgreSQL becomes unusable. A statement that was sent by then ends by itself. */
  async #within<Value>(begin: (call: Call) => Promise<Value>): Promise<Value> {
    if (this.#watch.state === 'hung') throw this.#watch.failure;
    const call = { isGivenUp: false };
    const { promise: unusable, reject: giveUp } = Promise.withResolvers<never>();
    this.#underWay.add(giveUp);
    try {
      return await withTimeout(Promise.race([begin(call), unusable]), PATIENCE_MS, TOO_LATE);
    } catch (error) {
      throw toStorageError(error);
    } finally {
      call.isGivenUp = true;
      this.#underWay.delete(giveUp);
    }
  }

  #giveUpAll(failure: Error): void {
    for (const giveUp of this.#underWay) giveUp(failure);
  }

  /**
   * Statements in progress on the former pool continue, or have been abandoned. They take no place of the new pool: no
   * caller waits because another server does not answer.
   */
  #usePool(url: string): void {
    const former = this.#pool;
    this.#pool = new ServerPool(url, this.#options.connections);
    void former?.retire();
  }
}
