import type pg from 'pg';
import type { Availability } from './availability.ts';
import { connectionConfig, endClient, longSession, openClient, setSession } from './connection.ts';
import { HUNG, toStorageError } from './errors.ts';
import { type Caller, inTime } from './in-time.ts';
import { type Call, type DatabaseLoad, forEachPurpose, Pool, type Purpose } from './pool.ts';
import { ServerWatch } from './server-watch.ts';
import type { PreparedStatement, StatementValue } from './statement.ts';
import { type ResponseTimeouts, responseTimeouts, TIMEOUTS_MS } from './timeouts.ts';

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
  /** Called once if the server's connection limit is lower. */
  readonly onFewConnections?: () => void;
  /** Returns the observer of how long the statements of a purpose take, with the wait for a connection, even if they fail. */
  readonly durationsOf?: (purpose: Purpose) => DurationObserver;
}

/** Observes the durations of statements. Must be cheap and never throw. */
interface DurationObserver {
  observe(durationSeconds: number): void;
}

/** Runs statements on one pool of connections. A watch knows whether the server can be used. */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #timeouts: ResponseTimeouts;
  readonly #watch: ServerWatch;
  readonly #durations: Readonly<Record<Purpose, DurationObserver>> | undefined;
  readonly #pool: Pool;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#timeouts = responseTimeouts(options.patienceMs);
    this.#durations = options.durationsOf && forEachPurpose(options.durationsOf);
    this.#watch = new ServerWatch(options.databaseUrl, this.#timeouts, () => this.#pool.renew());
    this.#pool = new Pool({
      url: options.databaseUrl,
      size: options.connections ?? 16,
      timeouts: this.#timeouts,
      onFewConnections: options.onFewConnections,
      onDoubt: () => void this.#watch.doubt(),
    });
  }

  load(): DatabaseLoad {
    return this.#pool.load;
  }

  /**
   * Checks by a ping whether PostgreSQL can be used now.
   *
   * @throws StorageUnavailableError
   */
  async ping(): Promise<void> {
    await this.#watch.check();
    this.#assertUsable();
  }

  /** @param observer called after each check of PostgreSQL; must not throw */
  observe(observer: (seen: Availability) => void): void {
    this.#watch.observe(observer);
  }

  /**
   * Runs a statement in a transaction of its own.
   *
   * @param caller whoever waits for more than this statement, as {@link inTime} gives it: the statement is not sent after the
   *   caller has given up. @default one who waits for this statement alone
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
   * Runs work that may take several statements, each of which is given its caller.
   *
   * @throws StorageUnavailableError (as a rejection) within three seconds, and what the work throws
   */
  inTime<Value>(work: (caller: Caller) => Promise<Value>): Promise<Value> {
    return inTime(work, this.#timeouts.call);
  }

  /**
   * Lends a connection for work of several statements, such as a unit of work of the ORM, which asks before it commits
   * whether its caller still waits.
   *
   * @throws what {@link run} throws, and any other error of the work
   */
  async lend<Value>(purpose: Purpose, work: Call<Value>['work'], caller?: Caller): Promise<Value> {
    const beganMs = performance.now();
    const send = async (each: Caller) => {
      if (this.#watch.seen === undefined) await this.#watch.check();
      this.#assertUsable();
      return this.#pool.lend({ caller: each, purpose, work });
    };
    try {
      return await (caller === undefined ? this.inTime(send) : send(caller));
    } finally {
      this.#durations?.[purpose].observe((performance.now() - beganMs) / 1_000);
    }
  }

  /**
   * Runs work on a connection of its own, whose statements may take any time; a pause within a transaction may not. It is
   * closed afterwards, which ends an open transaction, its cursors and its temporary tables.
   *
   * @throws StorageUnavailableError also if PostgreSQL has answered nobody for the time of silence, and any other error of the work
   */
  async withLongSession<Value>(
    work: (client: pg.Client, timeouts: ResponseTimeouts) => Promise<Value>,
  ): Promise<Value> {
    if (this.#watch.seen === undefined) await this.#watch.check();
    this.#assertUsable();
    const client = await openClient(connectionConfig(this.#options.databaseUrl, this.#timeouts.connect));
    let isLost = false;
    client.on('error', () => {
      isLost = true;
    });
    let hungMs = 0;
    const silence = Promise.withResolvers<never>();
    const timer = setInterval(() => {
      hungMs = this.#watch.seen?.failure === HUNG ? hungMs + TIMEOUTS_MS.watchInterval : 0;
      if (hungMs > this.#timeouts.silence) silence.reject(HUNG);
    }, TIMEOUTS_MS.watchInterval);
    try {
      await setSession(client, longSession, this.#timeouts);
      return await Promise.race([work(client, this.#timeouts), silence.promise]);
    } catch (error) {
      throw toStorageError(error, isLost);
    } finally {
      clearInterval(timer);
      await endClient(client); // what was committed on it stays
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#watch.close(), this.#pool.close()]);
  }

  /** @throws StorageUnavailableError at once while PostgreSQL is known not to be usable */
  #assertUsable(): void {
    const failure = this.#watch.seen?.failure;
    if (failure !== undefined) throw failure;
  }
}
