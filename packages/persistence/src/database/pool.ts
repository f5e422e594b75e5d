import { setTimeout as sleep } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import pg from 'pg';
import { codeOf, endsConnection, HUNG, SQLSTATE, storageUnavailable, toStorageError } from './errors.ts';
import { connectionConfig, endClient } from './servers.ts';
import { SHORT_SESSION, setSession, TYPES } from './session.ts';
import { type ResponseTimeouts, TIMEOUTS_MS, withDeadline } from './timeouts.ts';

interface Needs {
  /** How many of a pool's connections the statements may use at a time; one at least. */
  readonly connections: (all: number) => number;
  /** Whether they need a server that takes writes. */
  readonly forWrites: boolean;
}

/**
 * The purposes of statements. Look-ups of keys and short reads may use all connections; commits as many as one disk can
 * serve; lists, looks for events and polls of them only a few, which leaves some to the others. A standby may lack events that
 * were already delivered.
 */
const NEEDS = {
  keys: { connections: (all) => all, forWrites: false },
  reads: { connections: (all) => all, forWrites: false },
  writes: { connections: (all) => all / 2, forWrites: true },
  batches: { connections: (all) => all / 4, forWrites: false },
  events: { connections: (all) => all / 8, forWrites: true },
  polls: { connections: (all) => all / 8, forWrites: true },
} as const satisfies Readonly<Record<string, Needs>>;

export type Purpose = keyof typeof NEEDS;

export const PURPOSES = Object.keys(NEEDS) as Purpose[]; // its own

export const needsWrites = (purpose: Purpose): boolean => NEEDS[purpose].forWrites;

/** Somebody who waits for one statement or several, and may give up. */
export interface Caller {
  readonly isWaiting: boolean;
}

export interface Call<Value> extends Caller {
  readonly purpose: Purpose;
  readonly work: (client: pg.ClientBase) => Promise<Value>;
}

/** What work has returned. */
interface Done<Value> {
  readonly value: Value;
}

export interface PoolOptions {
  readonly url: string;
  /** The maximum number of connections. */
  readonly size: number;
  readonly timeouts: ResponseTimeouts;
  /** Called once if the server's connection limit is lower. */
  readonly onFewConnections: (() => void) | undefined;
  /** Called if a connection cannot be opened, and there is no other. */
  readonly onUnreachable: () => void;
}

/** Connections to one server, opened when they are needed and kept for a while, with a semaphore for each purpose. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #pool: pg.Pool;
  /** The clients whose connection is not lost. */
  readonly #clients = new Set<pg.ClientBase>();
  readonly #purposes: Readonly<Record<Purpose, LimitFunction>>;
  /** Admits as many callers as there may be connections: fewer while the server is at its connection limit. */
  readonly #connections: LimitFunction;
  #hasFewConnections = false;
  #limitTimer: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    const { url, size, timeouts } = options;
    this.#options = options;
    const semaphore = (concurrency: number) => pLimit({ concurrency, rejectOnClear: true });
    this.#connections = semaphore(size);
    const purposes = PURPOSES.map((purpose) => [
      purpose,
      semaphore(Math.max(1, Math.floor(NEEDS[purpose].connections(size)))),
    ]);
    this.#purposes = Object.fromEntries(purposes) as Record<Purpose, LimitFunction>; // each purpose has one
    this.#pool = new pg.Pool({
      ...connectionConfig(url, timeouts),
      connectionTimeoutMillis: timeouts.connect,
      max: size,
      query_timeout: timeouts.silence,
      types: TYPES,
      onConnect: (client) => this.#prepare(client),
    });
    this.#pool.on('error', () => {}); // the pool has dropped the connection
  }

  get openConnections(): number {
    return this.#clients.size;
  }

  /** The number of statements of a purpose that wait for a connection or a response. */
  inFlight(purpose: Purpose): number {
    return this.#purposes[purpose].activeCount + this.#purposes[purpose].pendingCount;
  }

  /**
   * @returns `undefined` if nothing was sent, because the caller has given up or the pool has ended
   * @throws StorageUnavailableError, PostgreSQL's error for a statement, or any other error of the work
   */
  async run<Value>(call: Call<Value>): Promise<Done<Value> | undefined> {
    try {
      return await this.#purposes[call.purpose](async () => {
        while (this.#isWanted(call)) {
          const done = await this.#connections(() => this.#send(call));
          if (done !== undefined) return done;
          await sleep(TIMEOUTS_MS.connectionLimitPause);
        }
        return undefined;
      });
    } catch (error) {
      const wasCleared = this.#ended !== undefined && error instanceof DOMException && error.name === 'AbortError';
      if (wasCleared) return undefined;
      throw error;
    }
  }

  /** Sends nothing more. Resolves when all connections have ended, each after its statement. */
  end(): Promise<void> {
    clearTimeout(this.#limitTimer);
    this.#ended ??= this.#pool.end();
    for (const semaphore of [this.#connections, ...Object.values(this.#purposes)]) semaphore.clearQueue();
    return this.#ended;
  }

  /** Ends all connections now. Nobody waits for one that is still being opened. */
  async cut(): Promise<void> {
    void this.end();
    await Promise.all([...this.#clients].map((client) => endClient(client as pg.Client))); // the pool makes clients
  }

  #isWanted(caller: Caller): boolean {
    return caller.isWaiting && this.#ended === undefined;
  }

  /** The pool removes its own listener from a client in use; an error without a listener would end the process. */
  async #prepare(client: pg.ClientBase): Promise<void> {
    this.#clients.add(client);
    client.on('error', () => this.#clients.delete(client)).on('end', () => this.#clients.delete(client));
    await withDeadline(setSession(client, SHORT_SESSION), this.#options.timeouts.session, HUNG);
  }

  /** @returns `undefined` if nothing was sent */
  async #send<Value>(call: Call<Value>): Promise<Done<Value> | undefined> {
    const client = this.#isWanted(call) ? await this.#checkOut() : undefined;
    if (client === undefined) return undefined;
    if (!this.#isWanted(call)) {
      client.release();
      return undefined;
    }
    try {
      const value = await call.work(client);
      client.release();
      return { value };
    } catch (error) {
      client.release(endsConnection(error));
      throw toStorageError(error, !this.#clients.has(client));
    }
  }

  /** @returns `undefined` if there is no connection yet, and the caller should try again */
  async #checkOut(): Promise<pg.PoolClient | undefined> {
    const beganMs = performance.now();
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (this.#ended !== undefined) return undefined;
      const { totalCount } = this.#pool; // with those that are being opened, which may be refused as well
      if (totalCount === 0) this.#options.onUnreachable();
      else if (codeOf(error) === SQLSTATE.tooManyConnections) {
        this.#limitConnections(totalCount);
        return undefined;
      }
      // pg's timeout uses a clock that advances while this process is suspended.
      if (performance.now() - beganMs >= this.#options.timeouts.connect) return undefined;
      throw storageUnavailable(error);
    }
  }

  /** Lets callers wait for the open connections: the server is at its connection limit. */
  #limitConnections(count: number): void {
    const { size, onFewConnections } = this.#options;
    this.#connections.concurrency = count;
    clearTimeout(this.#limitTimer);
    this.#limitTimer = setTimeout(() => {
      this.#connections.concurrency = size;
    }, TIMEOUTS_MS.connectionLimit).unref();
    if (!this.#hasFewConnections) onFewConnections?.();
    this.#hasFewConnections = true;
  }
}
