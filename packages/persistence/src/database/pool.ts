import pLimit, { type LimitFunction } from 'p-limit';
import pg from 'pg';
import { connectionConfig, endClient, setSession, shortSession } from './connection.ts';
import { codeOf, endsConnection, isHung, SQLSTATE, storageUnavailable, TOO_LATE, toStorageError } from './errors.ts';
import type { Caller } from './in-time.ts';
import { type ResponseTimeouts, TIMEOUTS_MS } from './timeouts.ts';

/**
 * The purposes of connections, and the share of all connections that each may use at a time. `requests`: look-ups of keys and
 * short reads. `writes`: commits, as many as one disk can serve. `long`: everything that may take long, such as long lists
 * and pages, which leaves the others to requests.
 */
const SHARES = { requests: 1, writes: 1 / 2, long: 1 / 4 } as const;

export type Purpose = keyof typeof SHARES;

export const PURPOSES = Object.keys(SHARES) as Purpose[]; // its own

export const forEachPurpose = <Value>(valueFor: (purpose: Purpose) => Value): Readonly<Record<Purpose, Value>> => ({
  requests: valueFor('requests'),
  writes: valueFor('writes'),
  long: valueFor('long'),
});

/** How many connections may be given up while PostgreSQL is still at work for them, as a share of all. */
const GIVEN_UP_SHARE = 1 / 2;

/** Its response shows that a connection is not silent any more, however long that takes. */
const EMPTY_STATEMENT = { text: '', query_timeout: 2 ** 31 - 1 };

export interface Call<Value> {
  readonly caller: Caller;
  readonly purpose: Purpose;
  readonly work: (client: pg.ClientBase, caller: Caller) => Promise<Value>;
}

/**
 * What an attempt came to. `retry`: nothing was sent, because the server is at its connection limit, so that the call waits for
 * an open connection, or because all connections were replaced.
 */
type Outcome<Value> = { readonly value: Value } | 'retry';

/** The present load of the connections for requests. */
export interface DatabaseLoad {
  readonly openConnections: number;
  /** Statements that wait for a connection or a response, by purpose. */
  readonly statementsInFlight: Readonly<Record<Purpose, number>>;
}

export interface PoolOptions {
  readonly url: string;
  /** The maximum number of connections, beside those that were given up. */
  readonly size: number;
  readonly timeouts: ResponseTimeouts;
  /** Called once if the server's connection limit is lower. */
  readonly onFewConnections: (() => void) | undefined;
  /** Called if the server may be unusable: it opens no connection and there is no other, or it takes no writes any more. */
  readonly onDoubt: () => void;
}

/** Connections to one server, opened when they are needed and kept for a while, for a number of calls of each purpose. */
export class Pool {
  readonly #options: PoolOptions;
  /** The clients whose connection is not lost. */
  readonly #clients = new Set<pg.ClientBase>();
  /** Admits as many calls as there may be connections: fewer while the server is at its connection limit. */
  readonly #connections: LimitFunction;
  readonly #purposes: Readonly<Record<Purpose, LimitFunction>>;
  /** Silent connections whose calls have made room for others. */
  readonly #givenUp = new Set<pg.ClientBase>();
  readonly #givenUpMax: number;
  #hasFewConnections = false;
  #pool: pg.Pool;

  constructor(options: PoolOptions) {
    const { size } = options;
    this.#options = options;
    this.#givenUpMax = Math.ceil(size * GIVEN_UP_SHARE);
    this.#connections = pLimit(size);
    this.#purposes = forEachPurpose((each) => pLimit(Math.max(1, Math.floor(size * SHARES[each]))));
    this.#pool = this.#open();
  }

  get load(): DatabaseLoad {
    const statementsInFlight = forEachPurpose((each) => {
      const { activeCount, pendingCount } = this.#purposes[each];
      return activeCount + pendingCount;
    });
    return { openConnections: this.#clients.size, statementsInFlight };
  }

  /**
   * Lends a connection for work, for which the call waits in the queues of its purpose and of all.
   *
   * @throws StorageUnavailableError, and what the work throws
   */
  async lend<Value>(call: Call<Value>): Promise<Value> {
    for (;;) {
      const outcome = await this.#purposes[call.purpose](() => this.#connections(() => this.#attempt(call)));
      if (outcome !== 'retry') return outcome.value;
    }
  }

  /**
   * Replaces all connections, and resolves the host's name anew. Calls that wait get the new ones. Those in progress fail:
   * they may be stuck, or with a server that has lost its address to another.
   */
  renew(): void {
    if (this.#pool.ending) return; // closed for good
    void this.close();
    this.#pool = this.#open();
  }

  /** Ends all connections now. Nobody waits for one that is still being opened. */
  async close(): Promise<void> {
    const clients = [...this.#clients];
    this.#clients.clear();
    this.#givenUp.clear();
    if (!this.#pool.ending) void this.#pool.end();
    await Promise.all(clients.map((client) => endClient(client as pg.Client))); // the pool makes clients
  }

  #open(): pg.Pool {
    const { url, size, timeouts } = this.#options;
    const pool = new pg.Pool({
      ...connectionConfig(url, timeouts.connect),
      max: size + this.#givenUpMax,
      query_timeout: timeouts.silence,
      onConnect: (client) => this.#prepare(client),
    });
    return pool.on('error', () => {}); // the pool has dropped the connection
  }

  /** The pool removes its own listener from a client in use; an error without a listener would end the process. */
  async #prepare(client: pg.ClientBase): Promise<void> {
    this.#clients.add(client);
    client.on('error', () => this.#clients.delete(client)).on('end', () => this.#clients.delete(client));
    await setSession(client, shortSession, this.#options.timeouts);
  }

  async #attempt<Value>({ caller, work }: Call<Value>): Promise<Outcome<Value>> {
    if (!caller.isWaiting) throw TOO_LATE;
    const client = await this.#checkOut();
    if (client === 'retry') return client;
    if (!caller.isWaiting) {
      client.release();
      throw TOO_LATE;
    }
    try {
      const value = await work(client, caller);
      client.release();
      return { value };
    } catch (error) {
      const isLost = !this.#clients.has(client);
      const isSilent = !isLost && isHung(error);
      if (isSilent) await this.#giveUp(client);
      else client.release(endsConnection(error));
      if (codeOf(error) === SQLSTATE.readOnly && !isLost) {
        this.renew();
        this.#options.onDoubt();
      }
      throw toStorageError(error, isLost || isSilent);
    }
  }

  /**
   * Makes room for another connection in place of one that is silent, which is kept until it responds or ends: PostgreSQL may
   * still be at work for it. A commit that waits for a standby would not notice that its connection was closed, and neither
   * would those on the next ones, so the room is limited.
   */
  async #giveUp(client: pg.PoolClient): Promise<void> {
    const settle = () => {
      this.#givenUp.delete(client);
      client.release(true);
    };
    const settled = client.query(EMPTY_STATEMENT).then(settle, settle); // after what is still in progress
    if (this.#givenUp.size < this.#givenUpMax) this.#givenUp.add(client);
    else await settled;
  }

  async #checkOut(): Promise<pg.PoolClient | 'retry'> {
    const pool = this.#pool;
    try {
      const client = await pool.connect();
      if (!pool.ending) return client;
      client.release(); // it was being opened when all were replaced or closed
      return 'retry';
    } catch (error) {
      if (pool !== this.#pool) return 'retry';
      const count = this.#pool.totalCount - this.#givenUp.size; // with those that are being opened, which may be refused as well
      if (count > 0 && codeOf(error) === SQLSTATE.tooManyConnections) {
        this.#useOpenConnections(count);
        return 'retry';
      }
      if (count === 0) this.#options.onDoubt();
      throw storageUnavailable(error);
    }
  }

  /** Lets calls wait for the open connections: the server is at its connection limit. */
  #useOpenConnections(count: number): void {
    const { size, onFewConnections } = this.#options;
    this.#connections.concurrency = count;
    setTimeout(() => {
      this.#connections.concurrency = size;
    }, TIMEOUTS_MS.connectionLimit).unref();
    if (!this.#hasFewConnections) onFewConnections?.();
    this.#hasFewConnections = true;
  }
}
