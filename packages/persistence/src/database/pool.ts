import pLimit, { type LimitFunction } from 'p-limit';
import pg from 'pg';
import { connectionConfig, endClient } from './connection.ts';
import { codeOf, endsConnection, isHung, SQLSTATE, storageUnavailable, TOO_LATE, toStorageError } from './errors.ts';
import type { Caller } from './in-time.ts';
import { setSession, shortSession } from './session.ts';
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

export interface Call<Value> {
  readonly caller: Caller;
  readonly purpose: Purpose;
  readonly work: (client: pg.ClientBase, caller: Caller) => Promise<Value>;
}

/**
 * What an attempt came to. `retry`: there is no connection at the moment, because the server is at its connection limit.
 * `gone`: the pool has ended, and another one takes its place. Nothing was sent with either.
 */
export type Outcome<Value> = { readonly value: Value } | 'retry' | 'gone';

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
  /** Called if a connection cannot be opened, and there is no other. */
  readonly onUnreachable: () => void;
  /** Called if the server of a connection takes no writes any more. */
  readonly onReadOnly: () => void;
}

/** Connections to one server, opened when they are needed and kept for a while, for a number of calls of each purpose. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #pool: pg.Pool;
  /** The clients whose connection is not lost. */
  readonly #clients = new Set<pg.ClientBase>();
  /** Admits as many calls as there may be connections: fewer while the server is at its connection limit. */
  readonly #connections: LimitFunction;
  readonly #purposes: Readonly<Record<Purpose, LimitFunction>>;
  /** Silent connections whose calls have made room for others. */
  readonly #givenUp = new Set<pg.ClientBase>();
  readonly #givenUpMax: number;
  #hasFewConnections = false;
  #ended: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    const { url, size, timeouts } = options;
    this.#options = options;
    this.#givenUpMax = Math.ceil(size * GIVEN_UP_SHARE);
    const limit = (concurrency: number) => pLimit({ concurrency, rejectOnClear: true });
    this.#connections = limit(size);
    this.#purposes = forEachPurpose((each) => limit(Math.max(1, Math.floor(size * SHARES[each]))));
    this.#pool = new pg.Pool({
      ...connectionConfig(url, timeouts.connect),
      max: size + this.#givenUpMax,
      query_timeout: timeouts.silence,
      onConnect: (client) => this.#prepare(client),
    });
    this.#pool.on('error', () => {}); // the pool has dropped the connection
  }

  get load(): DatabaseLoad {
    const statementsInFlight = forEachPurpose((each) => {
      const { activeCount, pendingCount } = this.#purposes[each];
      return activeCount + pendingCount;
    });
    return { openConnections: this.#clients.size, statementsInFlight };
  }

  /** @throws StorageUnavailableError, or PostgreSQL's error for the statement */
  async attempt<Value>(call: Call<Value>): Promise<Outcome<Value>> {
    try {
      return await this.#purposes[call.purpose](() => this.#connections(() => this.#send(call)));
    } catch (error) {
      if (this.#ended !== undefined && wasCleared(error)) return 'gone';
      throw error;
    }
  }

  /**
   * Sends nothing more: calls that wait for a connection learn at once that the pool is gone, even if its connections hang.
   * Resolves when all connections have ended.
   */
  end(): Promise<void> {
    this.#ended ??= this.#pool.end(); // each connection ends after its statement
    for (const queue of [this.#connections, ...Object.values(this.#purposes)]) queue.clearQueue();
    return this.#ended;
  }

  /** Ends all connections now. Nobody waits for one that is still being opened. */
  async cut(): Promise<void> {
    void this.end();
    await Promise.all([...this.#clients].map((client) => endClient(client as pg.Client))); // the pool makes clients
  }

  /** The pool removes its own listener from a client in use; an error without a listener would end the process. */
  async #prepare(client: pg.ClientBase): Promise<void> {
    this.#clients.add(client);
    client.on('error', () => this.#clients.delete(client)).on('end', () => this.#clients.delete(client));
    await setSession(client, shortSession, this.#options.timeouts);
  }

  async #send<Value>({ caller, work }: Call<Value>): Promise<Outcome<Value>> {
    if (!caller.isWaiting) throw TOO_LATE;
    const client = await this.#checkOut();
    if (typeof client === 'string') return client;
    if (!caller.isWaiting) {
      client.release();
      throw TOO_LATE;
    }
    try {
      const value = await work(client, caller);
      client.release();
      return { value };
    } catch (error) {
      if (isHung(error) && this.#clients.has(client) && this.#ended === undefined) await this.#giveUp(client);
      else client.release(endsConnection(error));
      if (codeOf(error) === SQLSTATE.readOnly && this.#ended === undefined) this.#options.onReadOnly();
      throw toStorageError(error, !this.#clients.has(client));
    }
  }

  /**
   * Makes room for another connection in place of one that is silent, which is kept until it responds or ends: PostgreSQL may
   * still be at work for it. A commit that waits for a standby would not notice that its connection was closed, and neither
   * would those on the next ones, so the room is limited.
   */
  async #giveUp(client: pg.PoolClient): Promise<void> {
    const settled = new Promise<void>((resolve) => {
      client.once('drain', resolve).once('end', resolve);
    }).then(() => {
      this.#givenUp.delete(client);
      client.release(true);
    });
    if (this.#givenUp.size < this.#givenUpMax) this.#givenUp.add(client);
    else await settled;
  }

  async #checkOut(): Promise<pg.PoolClient | 'retry' | 'gone'> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (this.#ended !== undefined) return 'gone';
      const count = this.#pool.totalCount - this.#givenUp.size; // with those that are being opened, which may be refused as well
      if (count > 0 && codeOf(error) === SQLSTATE.tooManyConnections) {
        this.#useOpenConnections(count);
        return 'retry';
      }
      if (count === 0) this.#options.onUnreachable();
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

/** Whether p-limit has taken a call out of its queue, before anything was done for it. */
const wasCleared = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';
