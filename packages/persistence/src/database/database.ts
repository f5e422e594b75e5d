import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Availability } from './availability.ts';
import { connectionConfig, endClient, openClient } from './connection.ts';
import { HUNG, storageUnavailable, TOO_LATE, toStorageError } from './errors.ts';
import { type Call, type Caller, Pool, PURPOSES, type Purpose } from './pool.ts';
import { ServerWatch } from './server-watch.ts';
import { LONG_SESSION, setSession } from './session.ts';
import type { DurationObserver, PreparedStatement, StatementValue } from './statement.ts';
import { type ResponseTimeouts, responseTimeouts, TIMEOUTS_MS, withDeadline } from './timeouts.ts';

export interface DatabaseOptions {
  /** It names one host. A failover moves its address, or the proxy or the DNS name behind it. */
  readonly databaseUrl: string;
  /** The most connections for the statements of requests; one more watches the server. @default 16 */
  readonly connections?: number;
  /**
   * How long each step to a database that is far away or wakes may take, in milliseconds: for a command, which holds up no
   * caller. @default the times of requests, which all fail within three seconds
   */
  readonly patienceMs?: number | undefined;
  /** Called once for each pool for which the server has too little room. */
  readonly onFewConnections?: () => void;
  /** Returns the observer of how long the statements of a purpose take. */
  readonly durationsOf?: (purpose: Purpose) => DurationObserver;
}

/** The present load of the connections for requests. */
export interface DatabaseLoad {
  readonly openConnections: number;
  /** Statements that wait for a connection or a response, by purpose. */
  readonly statementsInFlight: Readonly<Record<Purpose, number>>;
}

const CLOSED = storageUnavailable('this process has closed its connections');

/** Runs statements on one pool of connections. A watch knows whether the server can be used. */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #timeouts: ResponseTimeouts;
  readonly #watch: ServerWatch;
  readonly #durations: Partial<Record<Purpose, DurationObserver>>;
  #pool: Pool | undefined;
  /** The present pool, and those before it until they have ended. */
  readonly #pools = new Set<Pool>();
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    const { databaseUrl, durationsOf, patienceMs } = options;
    this.#options = options;
    this.#timeouts = responseTimeouts(patienceMs);
    this.#durations = durationsOf ? Object.fromEntries(PURPOSES.map((each) => [each, durationsOf(each)])) : {};
    this.#watch = new ServerWatch(databaseUrl, this.#timeouts, () => this.#renewPool());
  }

  load(): DatabaseLoad {
    const counts = PURPOSES.map((purpose) => [purpose, this.#pool?.inFlight(purpose) ?? 0]);
    const statementsInFlight = Object.fromEntries(counts) as Record<Purpose, number>; // each has one
    return { openConnections: this.#pool?.openConnections ?? 0, statementsInFlight };
  }

  /**
   * Checks by a ping whether PostgreSQL can be used now.
   *
   * @throws StorageUnavailableError
   */
  async ping(): Promise<void> {
    this.#assertOpen();
    await this.#watch.check();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
  }

  /** @param observer called after each check of PostgreSQL */
  observe(observer: (seen: Availability) => void): void {
    this.#watch.observe(observer);
  }

  /**
   * Runs a statement in a transaction of its own.
   *
   * @param caller whoever waits for more than this statement: it is not sent after the caller has given up
   * @throws StorageUnavailableError (as a rejection) within three seconds, or PostgreSQL's error for the statement
   */
  async run<Row extends object>(
    purpose: Purpose,
    statement: PreparedStatement<Row>,
    values: readonly StatementValue[],
    caller?: Caller,
  ): Promise<readonly Row[]> {
    const { rows } = await this.lend(
      purpose,
      (client) => client.query<Row>({ ...statement, values: [...values] }),
      caller,
    );
    return rows;
  }

  /**
   * Lends a connection for work of several statements, such as a unit of work of the ORM.
   *
   * @throws what {@link run} throws, and any other error of the work
   */
  async lend<Value>(
    purpose: Purpose,
    work: (client: pg.ClientBase) => Promise<Value>,
    caller?: Caller,
  ): Promise<Value> {
    const beganMs = performance.now();
    let isWaiting = true;
    const call = {
      purpose,
      work,
      get isWaiting() {
        return isWaiting && caller?.isWaiting !== false;
      },
    };
    try {
      return await withDeadline(this.#send(call), this.#timeouts.call, TOO_LATE);
    } finally {
      isWaiting = false;
      this.#durations[purpose]?.observe((performance.now() - beganMs) / 1_000);
    }
  }

  /**
   * Runs work on a connection of its own, whose statements may take any time; a pause within a transaction may not. It is
   * closed afterwards, which ends an open transaction, its cursors and its temporary tables.
   *
   * @throws StorageUnavailableError also if PostgreSQL has answered nobody for half a minute, and any other error of the work
   */
  async withLongSession<Value>(work: (client: pg.Client) => Promise<Value>): Promise<Value> {
    await this.#usablePool();
    let client: pg.Client | undefined;
    let isLost = true;
    const silence = Promise.withResolvers<never>();
    const timer = setInterval(() => {
      if (this.#watch.hungMs > this.#timeouts.silence) silence.reject(HUNG);
    }, TIMEOUTS_MS.watchInterval);
    try {
      client = await openClient(connectionConfig(this.#options.databaseUrl, this.#timeouts.connect));
      isLost = false;
      client.on('error', () => {
        isLost = true;
      });
      await withDeadline(setSession(client, LONG_SESSION), this.#timeouts.connect, HUNG);
      return await Promise.race([work(client), silence.promise]);
    } catch (error) {
      throw toStorageError(error, isLost);
    } finally {
      clearInterval(timer);
      if (client !== undefined) await endClient(client); // what was committed on it stays
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#watch.close(), ...[...this.#pools].map((pool) => pool.cut())]);
  }

  /** Makes attempts, on the present pool or the one that replaces it while the call waits, until one was sent. */
  async #send<Value>(call: Call<Value>): Promise<Value> {
    for (;;) {
      const pool = await this.#usablePool();
      const outcome = await pool.attempt(call);
      if (typeof outcome !== 'string') return outcome.value;
      if (outcome === 'retry') await sleep(TIMEOUTS_MS.connectionLimitPause);
    }
  }

  /** @throws StorageUnavailableError at once while PostgreSQL is known not to be usable */
  async #usablePool(): Promise<Pool> {
    this.#assertOpen();
    // A server that refuses connections does so at once, so the first call after it is back can check and succeed.
    if (this.#watch.state === undefined || this.#watch.state === 'unavailable') await this.#watch.check();
    this.#assertOpen();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
    if (this.#pool === undefined)
      throw new Error('the watch makes the pool before it says that PostgreSQL can be used');
    return this.#pool;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw CLOSED;
  }

  /** Statements in progress use no connection of the new pool: if they hang, no other statement does. */
  #renewPool(): void {
    const former = this.#pool;
    const pool = new Pool({
      url: this.#options.databaseUrl,
      size: this.#options.connections ?? 16,
      timeouts: this.#timeouts,
      onFewConnections: this.#options.onFewConnections,
      onUnreachable: () => void this.#watch.doubt(),
      onReadOnly: () => {
        this.#renewPool();
        void this.#watch.check();
      },
    });
    this.#pool = pool;
    this.#pools.add(pool);
    if (former !== undefined) void former.end().finally(() => this.#pools.delete(former));
  }
}
