import type pg from 'pg';
import { HUNG, READ_ONLY, storageUnavailable, TOO_LATE, toStorageError } from './errors.ts';
import { type Call, type Caller, needsWrites, Pool, PURPOSES, type Purpose } from './pool.ts';
import { type Availability, ServerWatch } from './server-watch.ts';
import { DatabaseServers, endClient } from './servers.ts';
import { LONG_SESSION, setSession } from './session.ts';
import type { DurationObserver, PreparedStatement, StatementValue } from './statement.ts';
import { type ResponseTimeouts, responseTimeouts, withDeadline } from './timeouts.ts';

export interface DatabaseOptions {
  /** Several URLs name the servers of one database, of which at most one takes writes. */
  readonly databaseUrl: string | readonly string[];
  /** The most connections for the statements of requests; one more watches the server. @default 16 */
  readonly connections?: number;
  /**
   * How long each step to a database that is far away or wakes may take, in milliseconds: for a command, which holds up no
   * caller. @default the times of requests, which all fail within three seconds
   */
  readonly patienceMs?: number | undefined;
  /** Called once for each server that has no room for as many connections. */
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

/** Runs statements on the server that takes writes. A watch knows which server that is, and whether it can be used. */
export class Database {
  readonly #options: DatabaseOptions;
  readonly timeouts: ResponseTimeouts;
  readonly #servers: DatabaseServers;
  readonly #watch: ServerWatch;
  /** For each caller that waits, a function that rejects it. */
  readonly #waiting = new Set<(failure: Error) => void>();
  readonly #durations: Partial<Record<Purpose, DurationObserver>>;
  #pool: Pool | undefined;
  /** The present pool, and those of other servers, or of this one before it was unavailable, until they have ended. */
  readonly #pools = new Set<Pool>();
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    const { databaseUrl, durationsOf } = options;
    this.#options = options;
    this.timeouts = responseTimeouts(options.patienceMs);
    this.#servers = new DatabaseServers(databaseUrl, this.timeouts);
    this.#durations = durationsOf ? Object.fromEntries(PURPOSES.map((each) => [each, durationsOf(each)])) : {};
    this.#watch = new ServerWatch(
      this.#servers,
      (url) => this.#usePool(url),
      (failure) => this.#rejectAll(failure),
    );
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
  async ping(): Promise<{ readonly isReadOnly: boolean }> {
    this.#assertOpen();
    await this.#watch.check();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
    return { isReadOnly: this.#watch.state === 'read-only' };
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
  run<Row extends object>(
    purpose: Purpose,
    statement: PreparedStatement<Row>,
    values: readonly StatementValue[],
    caller?: Caller,
  ): Promise<readonly Row[]> {
    const send = async (client: pg.ClientBase) => (await client.query<Row>({ ...statement, values: [...values] })).rows;
    return this.lend(purpose, send, caller);
  }

  /**
   * Lends a connection to work of several statements, for which its caller waits no longer than for one.
   *
   * @param caller as for {@link run}
   * @throws as {@link run} does, and any other error of the work
   */
  async lend<Value>(
    purpose: Purpose,
    work: (client: pg.ClientBase) => Promise<Value>,
    caller?: Caller,
  ): Promise<Value> {
    if (this.#watch.state === 'hung') throw this.#watch.failure;
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
      return await withDeadline(this.#send(call), this.timeouts.call, TOO_LATE, this.#waiting);
    } finally {
      isWaiting = false;
      this.#durations[purpose]?.observe((performance.now() - beganMs) / 1_000);
    }
  }

  /**
   * Runs work on a connection of its own, whose statements, and the pauses between them, may take any time. It is closed
   * afterwards, which ends an open transaction, its cursors and its temporary tables.
   *
   * @param needs.forWrites whether a server that takes no writes is refused
   * @throws StorageUnavailableError, and any other error of the work
   */
  async withLongSession<Value>(
    needs: { readonly forWrites: boolean },
    work: (client: pg.Client) => Promise<Value>,
  ): Promise<Value> {
    const { client, isReadOnly } = await this.#servers.find();
    let isLost = false;
    client.on('error', () => {
      isLost = true;
    });
    try {
      if (isReadOnly && needs.forWrites) throw READ_ONLY;
      await withDeadline(setSession(client, LONG_SESSION), this.timeouts.session, HUNG);
      return await work(client);
    } catch (error) {
      throw toStorageError(error, isLost);
    } finally {
      await endClient(client); // what was committed on it stays
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectAll(CLOSED);
    await Promise.all([this.#watch.close(), ...[...this.#pools].map((pool) => pool.cut())]);
  }

  /** Works on the present pool, or on the one that replaces it while the caller waits for a connection. */
  async #send<Value>(call: Call<Value>): Promise<Value> {
    while (call.isWaiting) {
      const pool = await this.#usablePool(call.purpose);
      const done = await pool.run(call);
      if (done !== undefined) return done.value;
    }
    throw TOO_LATE;
  }

  /** @throws StorageUnavailableError at once while PostgreSQL is known to be unavailable, hung or, for writes, read-only */
  async #usablePool(purpose: Purpose): Promise<Pool> {
    this.#assertOpen();
    // A server that refuses connections does so at once, so the first call after it is back can check and succeed.
    if (this.#watch.state === undefined || this.#watch.state === 'unavailable') await this.#watch.check();
    this.#assertOpen();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
    if (this.#watch.state === 'read-only' && needsWrites(purpose)) throw READ_ONLY;
    if (this.#pool === undefined) throw new Error('the watch names a server before it says that one can be used');
    return this.#pool;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw CLOSED;
  }

  #rejectAll(failure: Error): void {
    for (const reject of this.#waiting) reject(failure);
  }

  /**
   * Statements in progress on the former pool continue, or nobody waits for them. They use no connection of the new pool: if
   * they hang, no other statement does.
   */
  #usePool(url: string): void {
    const former = this.#pool;
    const pool = new Pool({
      url,
      size: this.#options.connections ?? 16,
      timeouts: this.timeouts,
      onFewConnections: this.#options.onFewConnections,
      onUnreachable: () => void this.#watch.suspect(),
    });
    this.#pool = pool;
    this.#pools.add(pool);
    if (former !== undefined) void former.end().finally(() => this.#pools.delete(former));
  }
}
