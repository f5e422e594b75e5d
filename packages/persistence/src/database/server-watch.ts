import type { StorageUnavailableError } from '@petstore/domain';
import type pg from 'pg';
import { codeOf, HUNG, isHung, SQLSTATE, storageUnavailable } from './errors.ts';
import { type DatabaseServers, endClient } from './servers.ts';
import { readIsReadOnly } from './session.ts';
import { TIMEOUTS_MS, withDeadline } from './timeouts.ts';

/** `read-only`: only reads work. `hung`: connections are accepted or stay open, but no response comes. */
export type Availability =
  | { readonly state: 'up' | 'read-only'; readonly failure: undefined }
  | { readonly state: 'hung' | 'unavailable'; readonly failure: StorageUnavailableError };

/**
 * Knows whether PostgreSQL can be used, and which of its servers. It pings periodically, on a connection of its own.
 *
 * A server that stops answering is recognised as hung after 2.5 s at most: the interval, a ping, and an attempt to connect.
 */
export class ServerWatch {
  readonly #servers: DatabaseServers;
  readonly #onServer: (url: string) => void;
  readonly #onFailure: (failure: StorageUnavailableError) => void;
  readonly #observers: ((seen: Availability) => void)[] = [];
  #seen: Availability | undefined;
  /** The server that was found last. */
  #url: string | undefined;
  /** An idle connection to it; `undefined` after it was lost. */
  #client: pg.Client | undefined;
  /** Whether a response on the open connection proves nothing: no other connection could be opened since. */
  #isSuspect = false;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /**
   * @param onServer called with the server to use: at first, when it changes, and when it is usable again
   * @param onFailure called when no server can be used any more
   */
  constructor(
    servers: DatabaseServers,
    onServer: (url: string) => void,
    onFailure: (failure: StorageUnavailableError) => void,
  ) {
    this.#servers = servers;
    this.#onServer = onServer;
    this.#onFailure = onFailure;
  }

  /** The state at the last check; `undefined` before the first. */
  get state(): Availability['state'] | undefined {
    return this.#seen?.state;
  }

  /** Why PostgreSQL cannot be used; `undefined` if it can. */
  get failure(): StorageUnavailableError | undefined {
    return this.#seen?.failure;
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

  /** Looks for a server anew, because callers get no connection: the watch's own was opened when logins still succeeded. */
  async suspect(): Promise<void> {
    this.#isSuspect = true;
    await this.check();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#checking;
    this.#forget();
  }

  async #check(): Promise<void> {
    try {
      const pinged = await this.#pingOpen();
      const isReadOnly = pinged === 'up' ? false : await this.#find(pinged);
      this.#see({ state: isReadOnly ? 'read-only' : 'up', failure: undefined });
    } catch (error) {
      // A server without room for another connection is alive, and continues with the open ones of the callers.
      const isInUse = this.#url !== undefined && this.failure === undefined && !this.#isSuspect;
      if (isInUse && codeOf(error) === SQLSTATE.tooManyConnections) return;
      const failure = storageUnavailable(error);
      this.#see({ state: isHung(failure) ? 'hung' : 'unavailable', failure });
    }
  }

  /** A session may stay read-only when its server no longer is, and its address may then lead to another server. */
  async #pingOpen(): Promise<'up' | 'read-only' | 'lost'> {
    if (this.#client === undefined || this.#isSuspect) return 'lost';
    try {
      const isReadOnly = await withDeadline(readIsReadOnly(this.#client), this.#servers.timeouts.ping, HUNG);
      return isReadOnly ? 'read-only' : 'up';
    } catch {
      this.#forget(); // a second ping must not be sent before the first has its response
      return 'lost';
    }
  }

  /** @returns whether the server that was found takes no writes */
  async #find(pinged: 'read-only' | 'lost'): Promise<boolean> {
    const before = this.#url;
    const { url, client, isReadOnly } = await this.#servers.find(this.#isSuspect ? undefined : before);
    const takesWritesAgain = pinged === 'read-only' && !isReadOnly;
    const isUsableAgain = this.failure !== undefined || this.#isSuspect || url !== before || takesWritesAgain;
    this.#isSuspect = false;
    this.#forget();
    this.#url = url;
    this.#client = client;
    if (isUsableAgain) this.#onServer(url);
    return isReadOnly;
  }

  #see(seen: Availability): void {
    this.#seen = seen;
    if (seen.failure !== undefined) this.#onFailure(seen.failure);
    for (const observer of this.#observers) {
      try {
        observer(seen);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : String(error)); // a defect of ours, and no outage
      }
    }
  }

  #forget(): void {
    if (this.#client !== undefined) void endClient(this.#client);
    this.#client = undefined;
  }
}
