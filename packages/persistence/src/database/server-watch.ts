import type pg from 'pg';
import { type Availability, type NewConnection, next, type Observation } from './availability.ts';
import { connectionConfig, endClient, openClient } from './connection.ts';
import { HUNG, isHung, storageUnavailable } from './errors.ts';
import { withDeadline } from './in-time.ts';
import { assertSessionStays, readIsReadOnly } from './server-checks.ts';
import { type ResponseTimeouts, TIMEOUTS_MS } from './timeouts.ts';

const CLOSED: Availability = {
  state: 'unavailable',
  failure: storageUnavailable('this process has closed its connections'),
};

/**
 * Knows whether PostgreSQL can be used. It pings periodically, on a connection of its own, so that the requests of an outage
 * fail at once.
 */
export class ServerWatch {
  readonly #config: pg.ClientConfig;
  readonly #timeouts: ResponseTimeouts;
  readonly #renewPool: () => void;
  readonly #observers: ((seen: Availability) => void)[] = [];
  #seen: Availability | undefined;
  #client: pg.Client | undefined;
  /** Whether a response on the open connection proves nothing: callers get no other one, or none that takes writes. */
  #isDoubted = false;
  /** Whether connections are known to keep their sessions. */
  #keepsSessions = false;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param renewPool called when the connections of callers must be opened anew */
  constructor(url: string, timeouts: ResponseTimeouts, renewPool: () => void) {
    // Longer than for a ping: after a pause of this process, pg does not look for a response before it gives up.
    this.#config = { ...connectionConfig(url, timeouts.reconnect), query_timeout: timeouts.call };
    this.#timeouts = timeouts;
    this.#renewPool = renewPool;
  }

  /** What the last check has found; `undefined` before the first. */
  get seen(): Availability | undefined {
    return this.#isClosed ? CLOSED : this.#seen;
  }

  /** @param observer called after each check; must not throw */
  observe(observer: (seen: Availability) => void): void {
    this.#observers.push(observer);
  }

  /** Checks now, and from the first time on periodically; concurrent calls share one check. */
  async check(): Promise<void> {
    if (this.#isClosed) return;
    this.#timer ??= setInterval(() => void this.check(), TIMEOUTS_MS.watchInterval).unref();
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  /**
   * Connects anew, because callers get no connection, or none that takes writes: the watch's own was opened before, perhaps to
   * another server.
   */
  doubt(): Promise<void> {
    this.#isDoubted = true;
    return this.check();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#checking;
    if (this.#client !== undefined) await endClient(this.#client);
  }

  async #check(): Promise<void> {
    const open = await this.#ping();
    const observation = open === 'takes writes' ? { open } : { open, anew: await this.#connect() };
    const { now, isPoolRenewed } = next(this.#seen, observation);
    this.#seen = now;
    if (isPoolRenewed) this.#renewPool();
    for (const observer of this.#observers) observer(now);
  }

  async #ping(): Promise<Observation['open']> {
    if (this.#client === undefined) return 'lost';
    if (this.#isDoubted) return 'doubted';
    return await this.#ask(this.#client).then(
      (isReadOnly) => (isReadOnly ? 'read-only' : 'takes writes'),
      (error: unknown) => (isHung(error) ? 'silent' : 'lost'),
    );
  }

  /** @returns whether the server takes no writes */
  #ask(client: pg.Client): Promise<boolean> {
    return withDeadline(readIsReadOnly(client), this.#timeouts.ping, HUNG);
  }

  /**
   * Replaces the open connection: its session may stay read-only, and its address may lead to another server by now. A
   * doubted one is kept until there is a new one, which must not get the room that is left by it.
   */
  async #connect(): Promise<NewConnection> {
    const former = this.#client;
    if (!this.#isDoubted) this.#client = undefined;
    let client: pg.Client | undefined;
    try {
      client = await openClient(this.#config);
      const isReadOnly = await this.#ask(client);
      if (!this.#keepsSessions) await assertSessionStays(client, this.#config);
      this.#keepsSessions = true;
      this.#client = client;
      this.#isDoubted = false;
      return isReadOnly ? 'read-only' : 'takes writes';
    } catch (error) {
      return { failure: error };
    } finally {
      for (const each of [former, client]) if (each !== undefined && each !== this.#client) void endClient(each);
    }
  }
}
