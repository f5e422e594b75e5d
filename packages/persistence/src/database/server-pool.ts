import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Lane, LaneClosedError } from './lane.ts';
import { connectionConfig, SESSION_TIMEOUT_MS } from './servers.ts';
import { SHORT_SESSION, setSession } from './session.ts';
import type { Field, PreparedStatement, StatementValue } from './statement.ts';
import { codeOf, HUNG, READ_ONLY_STATE, storageUnavailable, TOO_MANY_CONNECTIONS } from './storage-error.ts';
import { withTimeout } from './with-timeout.ts';

/**
 * How long a connection is kept after its caller gave up, in milliseconds. Until then it counts against the pool: what
 * holds up a statement, such as a commit that waits for a standby, would hold up one on a new connection as well.
 */
const SILENT_MAX_MS = 30_000;

/** After how long a connection that is not made gives its place back, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;

/** What pg says then. It goes by the clock, which moves on while this process stands still, so callers try again. */
const GAVE_UP_CONNECTING = /^timeout expired|connection timeout$/;

/** After the server had no room for another connection: how soon to try again, and how long to make do with those open. */
const NO_ROOM_PAUSE_MS = 50;
const MAKE_DO_MS = 5_000;

/**
 * Errors after which a connection is of no more use. The first shows that its server no longer takes writes, so that
 * another one may stand at the same address; the others that its prepared statements are stale, as after a migration.
 */
const ENDING_STATES = new Set([READ_ONLY_STATE, '0A000', '26000', '42P05']);

/** Disables pg's parsers: each store parses its own columns. */
const TEXTS: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/**
 * What statements are for, with how many connections those of a purpose may occupy at a time, and whether they need a
 * server that takes writes. Look-ups of keys and short reads may have all; commits as many as one disk is worth; long
 * lists, searches and followers of events few, so that the others find one.
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

/** A call of somebody who may have stopped waiting; then nothing more is sent for it. */
export interface Call {
  readonly isGivenUp: boolean;
}

/** Connections to one server, opened when they are needed and kept for a while. */
export class ServerPool {
  readonly #pool: pg.Pool;
  readonly #connections: Lane;
  readonly #purposes: Readonly<Record<Purpose, Lane>>;
  /** For each connection that is lent: ends it. */
  readonly #lent = new Set<() => void>();
  #ended: Promise<void> | undefined;
  #hasNoRoom = false;

  /** @param connections at most, for all purposes together */
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
    // The pool removes its own listener from a client that it lends; an error without one would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  get openConnections(): number {
    return this.#pool.totalCount;
  }

  /** Whether the server had no room for even one connection when it was last asked for one. */
  get hasNoRoom(): boolean {
    return this.#hasNoRoom;
  }

  /** Statements of a purpose that wait for a connection or for a response. */
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
      if (call.isGivenUp) return undefined; // while the connection was opened
      const { rows } = await client.query({ name, text, values: [...values], rowMode: 'array', types: TEXTS });
      return rows as readonly Field[][] as unknown as readonly Row[]; // the columns that the author of the statement declared
    });
  }

  /** Makes sure that there is a connection, or that one can be opened. */
  async tryConnection(call: Call): Promise<void> {
    await this.#lend('keys', call, async () => {});
  }

  /** Lends nothing more. Resolves when all connections have ended, each with what runs on it. */
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

  /** @returns `undefined` if there is no connection yet, and one is to be waited for */
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
      // Whatever the reason, such as a proxy that reaches no server: there is no connection.
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

/** SQLSTATEs by which the server ends a session: shutdown, crash, a dropped database, one that was idle or took too long. */
const ENDED_SESSION = /^(?:57P0|25P0[34])/;

/** Whether a connection goes on after an error: what PostgreSQL itself reports of a statement leaves it intact. */
function isUsableAfter(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code = '' } = error;
  return !ENDING_STATES.has(code) && !ENDED_SESSION.test(code);
}
