import { setTimeout as sleep } from 'node:timers/promises';
import type { StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';
import { ServerWatch } from './server-watch.ts';
import { connectionConfig, type DatabaseServers } from './servers.ts';
import { SHORT_SESSION, setSession } from './session.ts';
import type { DurationObserver, Field, PreparedStatement, QuerySender, StatementValue } from './statement.ts';
import { codeOf, HUNG, storageUnavailable, toStorageError } from './storage-error.ts';

/** How long a caller waits for a statement, the wait for a connection included, in milliseconds. */
const PATIENCE_MS = 2_400;

/**
 * How long a connection is kept whose statement nobody waits for any more, in milliseconds. Until then it counts against
 * the pool: what holds up a statement (a commit that waits for a standby) would hold up one on a new connection as well.
 */
const SILENT_MAX_MS = 30_000;

/** How long opening a connection may take, or waiting for one, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;

/** After the server had no room for another connection: how soon to try again, and how long to make do with those open. */
const NO_ROOM_PAUSE_MS = 50;
const MAKE_DO_MS = 5_000;
const TOO_MANY_CONNECTIONS = '53300';

/** Errors after which what a connection has prepared is not what the statements expect: a migration changed a table. */
const STALE_STATEMENT_STATES = new Set(['0A000', '26000', '42P05']);

/** Columns arrive as the text that the server sends, and are parsed by what knows their meaning. */
const TEXTS: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** What statements are for. The purposes share one pool, of which each may occupy only a part. */
export const PURPOSES = ['keys', 'reads', 'writes', 'batches', 'scans', 'events'] as const;

export type Purpose = (typeof PURPOSES)[number];

export interface DatabaseOptions {
  readonly servers: DatabaseServers;
  /** Connections for all statements together. */
  readonly connections: number;
  /** How many connections the statements of a purpose may occupy at a time. */
  readonly shares: Readonly<Record<Purpose, number>>;
  readonly durationsOf?: ((purpose: Purpose) => DurationObserver) | undefined;
}

/** One call of a caller, who may have stopped waiting: then nothing more is sent for it. */
interface Call {
  readonly isGivenUp: boolean;
}

interface ConnectionNeeds {
  /** Whether the statement is refused at once while PostgreSQL is read-only. */
  readonly forWrites: boolean;
  readonly call: Call;
}

/** A pool of connections to the server that takes writes, with one watch that knows whether it can be used. */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #watch: ServerWatch;
  readonly #lanes: Readonly<Record<Purpose, Lane>>;
  /** For each call under way: rejects its caller. */
  readonly #underWay = new Set<(failure: Error) => void>();
  #pool: pg.Pool | undefined;
  /** Whether the server had no room for even one connection of the pool when it was last asked for one. */
  #hasNoRoom = false;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#watch = new ServerWatch(
      options.servers,
      (url) => this.#usePool(url),
      (failure) => this.#giveUpAll(failure),
    );
    const lanes = PURPOSES.map((purpose) => [purpose, new Lane(options.shares[purpose])]);
    this.#lanes = Object.fromEntries(lanes) as Record<Purpose, Lane>; // each purpose has one
  }

  get openConnections(): number {
    return this.#pool?.totalCount ?? 0;
  }

  /** Statements of a purpose that wait for a connection or for a response. */
  inFlight(purpose: Purpose): number {
    return this.#lanes[purpose].count;
  }

  /**
   * Whether PostgreSQL can be used at this moment, found out by a ping.
   *
   * @throws StorageUnavailableError
   */
  async ping(): Promise<{ readonly isReadOnly: boolean }> {
    await this.#watch.check();
    if (this.#watch.failure !== undefined) throw this.#watch.failure;
    if (this.#hasNoRoom) await this.borrow('keys', async () => {});
    return { isReadOnly: this.#watch.state === 'read-only' };
  }

  /** @param needs whether statements fail at once while PostgreSQL is read-only */
  sender(purpose: Purpose, needs: { readonly forWrites: boolean } = { forWrites: false }): QuerySender {
    const durations = this.#options.durationsOf?.(purpose);
    return {
      run: (statement, values) => {
        const beganMs = performance.now();
        const rows = this.#within((call) => this.#run(purpose, { ...needs, call }, statement, values));
        if (durations === undefined) return rows;
        return rows.finally(() => durations.observe((performance.now() - beganMs) / 1_000));
      },
    };
  }

  /**
   * Lends a connection for work that reads a stream. The work bounds its own time.
   *
   * @throws StorageUnavailableError, and whatever the work throws
   */
  async borrow<Value>(purpose: Purpose, work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const lane = this.#lanes[purpose];
    const beganMs = performance.now();
    await lane.enter();
    try {
      const client = await this.#within((call) => this.#connect({ forWrites: false, call }));
      let failure: unknown;
      try {
        return await work(client);
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        client.release(isUsableAfter(failure) ? undefined : true);
      }
    } catch (error) {
      throw toStorageError(error);
    } finally {
      lane.leave();
      this.#options.durationsOf?.(purpose).observe((performance.now() - beganMs) / 1_000);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#watch.close();
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }

  async #run<Row extends readonly Field[]>(
    purpose: Purpose,
    needs: ConnectionNeeds,
    { name, text }: PreparedStatement<Row>,
    values: readonly StatementValue[],
  ): Promise<readonly Row[]> {
    const lane = this.#lanes[purpose];
    await lane.enter();
    let release: ((destroy?: boolean) => void) | undefined;
    let silence: NodeJS.Timeout | undefined;
    try {
      const client = await this.#connect(needs);
      release = (destroy) => {
        release = undefined;
        client.release(destroy);
      };
      silence = setTimeout(() => release?.(true), SILENT_MAX_MS).unref();
      const { rows } = await client.query({ name, text, values: [...values], rowMode: 'array', types: TEXTS });
      release?.();
      return rows as readonly Field[][] as unknown as readonly Row[]; // the columns that the author of the statement declared
    } catch (error) {
      release?.(!isUsableAfter(error));
      throw error;
    } finally {
      clearTimeout(silence);
      lane.leave();
    }
  }

  /** @throws StorageUnavailableError at once while PostgreSQL is known to be away, hung or, for writes, read-only */
  async #connect({ forWrites, call }: ConnectionNeeds): Promise<pg.PoolClient> {
    while (!call.isGivenUp) {
      if (this.#isClosed) throw storageUnavailable('this process has closed its connections');
      // What refuses connections does so at once, so the first call after its return need not fail.
      if (this.#watch.state === undefined || this.#watch.state === 'away') await this.#watch.check();
      if (this.#watch.failure !== undefined) throw this.#watch.failure;
      if (forWrites && this.#watch.state === 'read-only') throw storageUnavailable('it is read-only');
      const pool = this.#pool;
      if (pool === undefined) throw HUNG;
      try {
        const client = await pool.connect();
        this.#hasNoRoom = false;
        if (!call.isGivenUp) return client;
        client.release();
      } catch (error) {
        this.#hasNoRoom = codeOf(error) === TOO_MANY_CONNECTIONS && pool.totalCount === 0;
        // Whatever the reason, such as a proxy that reaches no server: there is no connection.
        if (codeOf(error) !== TOO_MANY_CONNECTIONS || pool.totalCount === 0) throw storageUnavailable(error);
        this.#makeDo(pool);
        await sleep(NO_ROOM_PAUSE_MS);
      }
    }
    throw TOO_LATE;
  }

  /** Lets callers wait for the connections that are open, since the server has no room for another. */
  #makeDo(pool: pg.Pool): void {
    pool.options.max = Math.max(1, pool.totalCount);
    setTimeout(() => {
      pool.options.max = this.#options.connections;
    }, MAKE_DO_MS).unref();
  }

  /** Rejects after a time, or when PostgreSQL becomes unusable. What was sent by then ends by itself. */
  #within<Value>(begin: (call: Call) => Promise<Value>): Promise<Value> {
    if (this.#watch.state === 'hung') return Promise.reject(HUNG);
    return new Promise((resolve, reject) => {
      const call = { isGivenUp: false };
      const giveUp = (failure: Error) => {
        call.isGivenUp = true;
        reject(failure);
      };
      this.#underWay.add(giveUp);
      // What arrived while this process stood still is read before the time counts as over: see withTimeout.
      const timer = setTimeout(() => setImmediate(giveUp, TOO_LATE), PATIENCE_MS);
      begin(call)
        .then(resolve, (error: unknown) => reject(toStorageError(error)))
        .finally(() => {
          clearTimeout(timer);
          this.#underWay.delete(giveUp);
        });
    });
  }

  #giveUpAll(failure: StorageUnavailableError): void {
    for (const giveUp of this.#underWay) giveUp(failure);
  }

  /** Connections to another server, or from before the server was unusable, are left: they end with what runs on them. */
  #usePool(url: string): void {
    const before = this.#pool;
    this.#pool = new pg.Pool({
      ...connectionConfig(url),
      max: this.#options.connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      onConnect: (client) => setSession(client, SHORT_SESSION),
    });
    this.#pool.on('error', () => {}); // the pool has dropped the connection
    // The pool removes its own listener from a client that it lends; an error without one would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
    void before?.end();
  }
}

const TOO_LATE = storageUnavailable('it did not respond in time');

/** Whether a connection goes on after an error: what PostgreSQL itself reports of a statement leaves it intact. */
const isUsableAfter = (error: unknown): boolean =>
  error === undefined || (error instanceof pg.DatabaseError && !STALE_STATEMENT_STATES.has(error.code ?? ''));

/** Admits a limited number at a time; the others wait in turn. */
class Lane {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #enteredCount = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Those who are in, and those who wait. */
  get count(): number {
    return this.#enteredCount + this.#waiting.length;
  }

  enter(): Promise<void> | undefined {
    if (this.#enteredCount < this.#max) {
      this.#enteredCount++;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#enteredCount--;
    else next();
  }
}
