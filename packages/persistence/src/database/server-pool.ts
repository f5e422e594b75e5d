import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Lane, LaneClosedError } from './lane.ts';
import { connectionConfig, SESSION_TIMEOUT_MS } from './servers.ts';
import { SHORT_SESSION, setSession } from './session.ts';
import type { Field, PreparedStatement, StatementValue } from './statement.ts';
import { codeOf, HUNG, READ_ONLY_STATE, storageUnavailable, TOO_MANY_CONNECTIONS } from './storage-error.ts';
import { withTimeout } from './with-timeout.ts';

/**
 * How long a connection is kept after its caller gave up, in milliseconds. Until then it counts against the pool: if a
 * statement is held up, such as a commit that waits for a standby, one on a new connection would be held up as well.
 */
const SILENT_MAX_MS = 30_000;

/** How long an attempt to connect may keep its place, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;

/** pg's message after that time. It uses the clock, which advances while this process is suspended, so callers try again. */
const GAVE_UP_CONNECTING = /^timeout expired|connection timeout$/;

/** If the server has no room for another connection: when to try again, and how long to use only the open ones. */
const NO_ROOM_PAUSE_MS = 50;
const MAKE_DO_MS = 5_000;

/**
 * Errors after which a connection must not be used again. The first shows that its server no longer takes writes, in which
 * case another server may have its address now. The others show stale prepared statements, as after a migration.
 */
const ENDING_STATES = new Set([READ_ONLY_STATE, '0A000', '26000', '42P05']);

/** Disables pg's parsers: each store parses its own columns. */
const TEXTS: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/**
 * The purposes of statements: how many connections the statements of each may occupy at a time, and whether they need a
 * server that takes writes. Look-ups of keys and short reads may use all connections; commits as many as one disk can
 * serve; long lists, searches and followers of events only a few, which leaves some to the others.
 */
const NEEDS = {
  keys: { share: 16, forWrites: false },
  reads: { share: 16, forWrites: false },
  writes: { share: 8, forWrites: true },
  batches: { share: 4, forWrites: false },
  scans: { share: 2, forWrites: false },
  events: { share: 2, forWrites: true },
} as const;

export type Purpose = keyof typeof NEEDS;

export const PURPOSES = Object.keys(NEEDS) as Purpose[]; // its own

export const needsWrites = (purpose: Purpose): boolean => NEEDS[purpose].forWrites;

/** A call whose caller may have given up; then nothing more is sent for it. */
export interface Call {
  readonly isGivenUp: boolean;
}

/** Connections to one server, opened when they are needed and kept for a while. */
export class ServerPool {
  readonly #pool: pg.Pool;
  readonly #connections: Lane;
  readonly #purposes: Readonly<Record<Purpose, Lane>>;
  /** For each connection in use, a function that ends it. */
  readonly #lent = new Set<() => void>();
  #ended: Promise<void> | undefined;
  #hasNoRoom = false;

  /** @param connections the maximum for all purposes together */
  constructor(url: string, connections: number) {
    this.#connections = new Lane(connections);
    const lanes = PURPOSES.map((purpose) => [purpose, new Lane(NEEDS[purpose].share)]);
    this.#purposes = Object.fromEntries(lanes) as Record<Purpose, Lane>; // each purpose has one
    this.#pool = new pg.Pool({
      ...connectionConfig(url),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      max: connections,
      query_timeout: SILENT_MAX_MS,
      onConnect: (client) => withTimeout(setSession(client, SHORT_SESSION), SESSION_TIMEOUT_MS, HUNG),
    });
    this.#pool.on('error', () => {}); // the pool has dropped the connection
    // The pool removes its own listener from a client in use; an error without a listener would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  get openConnections(): number {
    return this.#pool.totalCount;
  }

  /** Whether the server had no room for a single connection at the last attempt. */
  get hasNoRoom(): boolean {
    return this.#hasNoRoom;
  }

  /** The number of statements of a purpose that wait for a connection or a response. */
  inFlight(purpose: Purpose): number {
    return this.#purposes[purpose].count;
  }

  /**
   * @returns `undefined` if the call was given up before the statement was sent
   * @throws LaneClosedError if the pool was closed before the statement was sent
   */
  async run<Row extends readonly Field[]>(
    purpose: Purpose,
    call: Call,
    { name, text }: PreparedStatement<Row>,
    values: readonly StatementValue[],
  ): Promise<readonly Row[] | undefined> {
    return this.#lend(purpose, call, async (client) => {
      if (call.isGivenUp) return undefined; // given up while the connection was opened
      const { rows } = await client.query({ name, text, values: [...values], rowMode: 'array', types: TEXTS });
      return rows as readonly Field[][] as unknown as readonly Row[]; // the columns that the author of the statement declared
    });
  }

  /** Checks that there is a connection, or that one can be opened. */
  async tryConnection(call: Call): Promise<void> {
    await this.#lend('keys', call, async () => {});
  }

  /** Stops lending connections. Resolves when all have ended, each after its statement. */
  retire(): Promise<void> {
    for (const lane of [this.#connections, ...Object.values(this.#purposes)]) lane.close();
    this.#ended ??= this.#pool.end();
    return this.#ended;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const ended = this.retire();
    for (const end of this.#lent) end();
    await ended;
  }

  async #lend<Value>(
    purpose: Purpose,
    call: Call,
    work: (client: pg.PoolClient) => Promise<Value>,
  ): Promise<Value | undefined> {
    using _share = await this.#purposes[purpose].enter();
    while (!call.isGivenUp) {
      {
        using _place = await this.#connections.enter();
        const client = call.isGivenUp ? undefined : await this.#connect();
        if (client !== undefined) return await this.#use(client, work);
      }
      await sleep(NO_ROOM_PAUSE_MS);
    }
    return undefined;
  }

  /** @returns `undefined` if there is no connection yet, and the caller should wait for one */
  async #connect(): Promise<pg.PoolClient | undefined> {
    try {
      const client = await this.#pool.connect();
      this.#hasNoRoom = false;
      return client;
    } catch (error) {
      const { totalCount } = this.#pool;
      const isRefused = codeOf(error) === TOO_MANY_CONNECTIONS;
      this.#hasNoRoom = isRefused && totalCount === 0;
      if (this.#ended !== undefined) throw new LaneClosedError();
      if (error instanceof Error && GAVE_UP_CONNECTING.test(error.message)) return undefined;
      // There is no connection, whatever the reason, such as a proxy that reaches no server.
      if (!isRefused || totalCount === 0) throw storageUnavailable(error);
      this.#connections.narrow(totalCount, MAKE_DO_MS);
      return undefined;
    }
  }

  async #use<Value>(client: pg.PoolClient, work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const giveBack = (destroy: boolean) => {
      if (this.#lent.delete(end)) client.release(destroy);
    };
    const end = () => giveBack(true);
    this.#lent.add(end);
    try {
      const value = await work(client);
      giveBack(false);
      return value;
    } catch (error) {
      giveBack(!isUsableAfter(error));
      throw error;
    }
  }
}

/** SQLSTATEs with which the server ends a session: shutdown, crash, a dropped database, a session idle or busy too long. */
const ENDED_SESSION = /^(?:57P0|25P0[34])/;

/** Whether a connection can be used after an error: an error that PostgreSQL reports for a statement leaves it intact. */
function isUsableAfter(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code = '' } = error;
  return !ENDING_STATES.has(code) && !ENDED_SESSION.test(code);
}
