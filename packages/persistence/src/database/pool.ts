import pLimit, { type LimitFunction } from 'p-limit';
import pg from 'pg';
import { connectionConfig, endClient } from './connection.ts';
import { codeOf, endsConnection, HUNG, SQLSTATE, storageUnavailable, TOO_LATE, toStorageError } from './errors.ts';
import { setSession, shortSession } from './session.ts';
import { type ResponseTimeouts, TIMEOUTS_MS, withDeadline } from './timeouts.ts';

/**
 * The purposes of connections. `requests`: look-ups of keys and short reads, which may use all connections. `writes`: commits,
 * as many as one disk can serve. `long`: everything that may take long, such as long lists and pages, which
 * uses only a few, and leaves the others to requests.
 */
const CONNECTIONS = {
  requests: (all) => all,
  writes: (all) => all / 2,
  long: (all) => all / 4,
} as const satisfies Readonly<Record<string, (all: number) => number>>;

export type Purpose = keyof typeof CONNECTIONS;

export const PURPOSES = Object.keys(CONNECTIONS) as Purpose[]; // its own

/** Somebody who waits for one statement or several, and may give up. */
export interface Caller {
  readonly isWaiting: boolean;
}

export interface Call<Value> extends Caller {
  readonly purpose: Purpose;
  readonly work: (client: pg.ClientBase) => Promise<Value>;
}

/**
 * What an attempt came to. `retry`: there is no connection at the moment, because the server is at its connection limit.
 * `gone`: the pool has ended, and another one takes its place. Nothing was sent with either.
 */
export type Outcome<Value> = { readonly value: Value } | 'retry' | 'gone';

export interface PoolOptions {
  readonly url: string;
  /** The maximum number of connections. */
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
  #hasFewConnections = false;
  #ended: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    const { url, size, timeouts } = options;
    this.#options = options;
    const limit = (concurrency: number) => pLimit({ concurrency, rejectOnClear: true });
    this.#connections = limit(size);
    const purposes = PURPOSES.map((each) => [each, limit(Math.max(1, Math.floor(CONNECTIONS[each](size))))]);
    this.#purposes = Object.fromEntries(purposes) as Record<Purpose, LimitFunction>; // each purpose has one
    this.#pool = new pg.Pool({
      ...connectionConfig(url, timeouts.connect),
      max: size,
      query_timeout: timeouts.silence,
      onConnect: (client) => this.#prepare(client),
    });
    this.#pool.on('error', () => {}); // the pool has dropped the connection
  }

  get openConnections(): number {
    return this.#clients.size;
  }

  /** The number of calls of a purpose that wait for a connection or a response. */
  inFlight(purpose: Purpose): number {
    return this.#purposes[purpose].activeCount + this.#purposes[purpose].pendingCount;
  }

  /** @throws StorageUnavailableError, or PostgreSQL's error for the statement */
  async attempt<Value>(call: Call<Value>): Promise<Outcome<Value>> {
    try {
      return await this.#purposes[call.purpose](() => this.#connections(() => this.#send(call)));
    } catch (error) {
      const wasCleared = this.#ended !== undefined && error instanceof DOMException && error.name === 'AbortError';
      if (wasCleared) return 'gone';
      throw error;
    }
  }

  /** Sends nothing more. Resolves when all connections have ended, each after its statement. */
  end(): Promise<void> {
    this.#ended ??= this.#pool.end();
    for (const each of [this.#connections, ...Object.values(this.#purposes)]) each.clearQueue();
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
    const { timeouts } = this.#options;
    await withDeadline(setSession(client, shortSession(timeouts)), timeouts.connect, HUNG);
  }

  async #send<Value>(call: Call<Value>): Promise<Outcome<Value>> {
    if (this.#ended !== undefined) return 'gone';
    if (!call.isWaiting) throw TOO_LATE;
    const client = await this.#checkOut();
    if (typeof client === 'string') return client;
    if (!call.isWaiting) {
      client.release();
      throw TOO_LATE;
    }
    try {
      const value = await call.work(client);
      client.release();
      return { value };
    } catch (error) {
      client.release(endsConnection(error));
      if (codeOf(error) === SQLSTATE.readOnly && this.#ended === undefined) this.#options.onReadOnly();
      throw toStorageError(error, !this.#clients.has(client));
    }
  }

  async #checkOut(): Promise<pg.PoolClient | 'retry' | 'gone'> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (this.#ended !== undefined) return 'gone';
      const { totalCount } = this.#pool; // with those that are being opened, which may be refused as well
      if (totalCount > 0 && codeOf(error) === SQLSTATE.tooManyConnections) {
        this.#useOpenConnections(totalCount);
        return 'retry';
      }
      if (totalCount === 0) this.#options.onUnreachable();
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
