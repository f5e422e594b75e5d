import type { StorageUnavailableError } from '@petstore/domain';
import type pg from 'pg';
import { type Availability, next, type Observation } from './availability.ts';
import { connectionConfig, endClient, openClient } from './connection.ts';
import { isHung } from './errors.ts';
import { assertSessionStays, readIsReadOnly } from './session.ts';
import { type ResponseTimeouts, TIMEOUTS_MS } from './timeouts.ts';

/**
 * Knows whether PostgreSQL can be used. It pings periodically, on a connection of its own, so that the requests of an outage
 * fail at once.
 */
export class ServerWatch {
  readonly #config: pg.ClientConfig;
  readonly #renewPool: () => void;
  readonly #observers: ((seen: Availability) => void)[] = [];
  #seen: Availability | undefined;
  #client: pg.Client | undefined;
  /** Whether a response on the open connection proves nothing: callers get no other one. */
  #isDoubted = false;
  /** Whether connections are known to keep their sessions. */
  #keepsSessions = false;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #hungSinceMs: number | undefined;
  #isClosed = false;

  /** @param renewPool called when the connections of callers must be opened anew, and at first */
  constructor(url: string, timeouts: ResponseTimeouts, renewPool: () => void) {
    this.#config = { ...connectionConfig(url, timeouts.reconnect), query_timeout: timeouts.ping };
    this.#renewPool = renewPool;
  }

  /** The state at the last check; `undefined` before the first. */
  get state(): Availability['state'] | undefined {
    return this.#seen?.state;
  }

  /** Why PostgreSQL cannot be used; `undefined` if it can. */
  get failure(): StorageUnavailableError | undefined {
    return this.#seen?.failure;
  }

  /** For how long PostgreSQL has been hung, in milliseconds; 0 if it is not. */
  get hungMs(): number {
    return this.#hungSinceMs === undefined ? 0 : performance.now() - this.#hungSinceMs;
  }

  /** @param observer called after each check */
  observe(observer: (seen: Availability) => void): void {
    this.#observers.push(observer);
  }

  /**
   * Checks now; concurrent calls share one check. While PostgreSQL is unavailable, a check that has just ended is not repeated.
   * Periodic checks continue afterwards.
   */
  async check(): Promise<void> {
    if (this.state === 'unavailable' && performance.now() - this.#checkedAtMs < TIMEOUTS_MS.reconnectPause) return;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
      this.#checkedAtMs = performance.now();
      clearTimeout(this.#timer);
      if (!this.#isClosed) this.#timer = setTimeout(() => void this.check(), TIMEOUTS_MS.watchInterval).unref();
    });
    await this.#checking;
  }

  /** Connects anew, because callers get no connection: the watch's own was opened when logins still succeeded. */
  async doubt(): Promise<void> {
    this.#isDoubted = true;
    await this.check();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#checking;
    if (this.#client !== undefined) await endClient(this.#client);
  }

  async #check(): Promise<void> {
    const open = await this.#ping();
    const observation = open === 'takes writes' ? { open } : { open, anew: await this.#connect() };
    const { now, isPoolRenewed } = next(this.#seen, observation);
    this.#seen = now;
    this.#hungSinceMs = now.state === 'hung' ? (this.#hungSinceMs ?? performance.now()) : undefined;
    if (isPoolRenewed) this.#renewPool();
    for (const observer of this.#observers) {
      try {
        observer(now);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : String(error)); // a defect of ours, and no outage
      }
    }
  }

  async #ping(): Promise<Observation['open']> {
    if (this.#client === undefined) return 'none';
    if (this.#isDoubted) return 'doubted';
    try {
      return (await readIsReadOnly(this.#client)) ? 'read-only' : 'takes writes';
    } catch (error) {
      return isHung(error) ? 'silent' : 'lost';
    }
  }

  /**
   * Replaces the open connection: its session may stay read-only, and its address may lead to another server by now. A
   * doubted one is kept until there is a new one, which must not get the room that is left by it.
   */
  async #connect(): Promise<NonNullable<Observation['anew']>> {
    const former = this.#client;
    if (!this.#isDoubted) this.#client = undefined;
    try {
      const client = await openClient(this.#config);
      const isReadOnly = await this.#inspect(client);
      this.#client = client;
      this.#isDoubted = false;
      return isReadOnly ? 'read-only' : 'takes writes';
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      if (former !== undefined && former !== this.#client) void endClient(former);
    }
  }

  /** @returns whether the server takes no writes */
  async #inspect(client: pg.Client): Promise<boolean> {
    try {
      const isReadOnly = await readIsReadOnly(client);
      if (!this.#keepsSessions) await this.#assertSessionStays(client);
      this.#keepsSessions = true;
      return isReadOnly;
    } catch (error) {
      void endClient(client);
      throw error;
    }
  }

  /** A pooler may lend a session for one transaction only; its settings and prepared statements are then lost. */
  async #assertSessionStays(client: pg.Client): Promise<void> {
    const other = await openClient(this.#config);
    try {
      await assertSessionStays(client, other);
    } finally {
      void endClient(other);
    }
  }
}
