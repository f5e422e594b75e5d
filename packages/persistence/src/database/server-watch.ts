import type { StorageUnavailableError } from '@petstore/domain';
import { closeClient, type DatabaseServers, type FoundServer } from './servers.ts';
import { readIsReadOnly } from './session.ts';
import { HUNG, isHung, saysNoRoom, storageUnavailable } from './storage-error.ts';
import { withTimeout } from './with-timeout.ts';

/** The time between two checks, in milliseconds. */
const INTERVAL_MS = 400;

/** How long a ping on the open connection may take, in milliseconds. After that, a new connection is tried. */
const PING_TIMEOUT_MS = 700;

/** `read-only`: only reads work. `hung`: connections are accepted or stay open, but nothing is answered. */
export type Availability =
  | { readonly state: 'up' | 'read-only'; readonly failure: undefined }
  | { readonly state: 'hung' | 'away'; readonly failure: StorageUnavailableError };

/**
 * Knows whether PostgreSQL can be used, and which of its servers. It pings periodically, on a connection of its own.
 *
 * A server that stops answering is recognised as hung after 2.3 s at most: the interval, a ping, and an attempt to connect.
 */
export class ServerWatch {
  readonly #servers: DatabaseServers;
  readonly #onServer: (url: string) => void;
  readonly #onFailure: (failure: StorageUnavailableError) => void;
  readonly #observers: ((seen: Availability) => void)[] = [];
  #seen: Availability | undefined;
  #found: FoundServer | undefined;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
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

  /** Checks now; concurrent calls share one check. Periodic checks continue afterwards. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
      clearTimeout(this.#timer);
      if (!this.#isClosed) this.#timer = setTimeout(() => void this.check(), INTERVAL_MS).unref();
    });
    return this.#checking;
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
      // A server without room for another connection is alive, and continues with its open ones.
      if (this.#found !== undefined && this.failure === undefined && saysNoRoom(error)) return;
      const failure = storageUnavailable(error);
      this.#see({ state: isHung(failure) ? 'hung' : 'away', failure });
    }
  }

  /** A session may stay read-only when its server no longer is, and its address may then lead to another server. */
  async #pingOpen(): Promise<'up' | 'read-only' | 'lost'> {
    if (this.#found === undefined || this.state === 'hung') return 'lost';
    try {
      const isReadOnly = await withTimeout(readIsReadOnly(this.#found.client), PING_TIMEOUT_MS, HUNG);
      return isReadOnly ? 'read-only' : 'up';
    } catch {
      return 'lost';
    }
  }

  /** @returns whether the server that was found takes no writes */
  async #find(pinged: 'read-only' | 'lost'): Promise<boolean> {
    const before = this.#found;
    const found = await this.#servers.find(before?.url);
    const takesWritesAgain = pinged === 'read-only' && !found.isReadOnly;
    const isUsableAgain = this.failure !== undefined || found.url !== before?.url || takesWritesAgain;
    this.#forget();
    this.#found = found;
    if (isUsableAgain) this.#onServer(found.url);
    return found.isReadOnly;
  }

  #see(seen: Availability): void {
    this.#seen = seen;
    if (seen.failure !== undefined) this.#onFailure(seen.failure);
    for (const observer of this.#observers) observer(seen);
  }

  #forget(): void {
    if (this.#found !== undefined) closeClient(this.#found.client);
    this.#found = undefined;
  }
}
