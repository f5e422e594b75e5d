import pg from 'pg';
import { storageUnavailable, toStorageError } from '../storage-error.ts';
import type { OpenConnection } from './open-connection.ts';
import type { PipelinedQuery, QuerySender } from './pipelined-query.ts';
import type { DurationObserver, PoolOptions } from './pool-options.ts';
import type { ServerPulse } from './server-pulse.ts';

/**
 * How often connections are checked, in milliseconds. Silence is counted in checks: what happens while this process
 * stands still is no silence of the server's.
 */
const CHECK_INTERVAL_MS = 100;

/** A connection that has been silent for so long gets no statement that another one can take. */
const STALLED_MS = 1_000;

/** No statement is given up while results come in: it waits behind others then, and not for a server that hangs. */
const QUIET_MS = 300;

/** How much longer than for the server's own limit a caller waits, and then how much longer a connection is kept. */
const PATIENCE_MARGIN_MS = 200;
const SILENCE_MARGIN_MS = 400;

/** How soon a connection that failed to open is tried again while others serve, in milliseconds. */
const RECONNECT_DELAY_MS = 250;

/**
 * How soon a connection is opened in place of one that was silent while the server responded to others. What it waited
 * for, such as a standby, goes on holding its process of the server, and each new one might join it.
 */
const REPLACE_DELAY_MS = 3_000;

/** How long a connection is kept that took the place of a silent one and is silent as well: more would only join them. */
const SILENT_AGAIN_LIMIT_MS = 60_000;

/** How long closing waits for queries in flight, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Errors after which a connection's prepared statements, or its server, are not what we think they are. */
const STALE_STATEMENT_STATES = new Set(['0A000', '25006', '26000', '42P05']);

const TOO_LATE = storageUnavailable('it did not respond in time');
const ALL_LATE = storageUnavailable('all connections wait for responses');

/** Room for one connection, with the queries that are sent on it. */
class Slot {
  connecting: Promise<void> | undefined;
  retryAtMs = 0;
  replaceAtMs = 0;
  client: pg.Client | undefined;
  /** Whether the last connection was closed because of its silence, and none has responded since. */
  wasSilent = false;
  /** In the order in which they were sent; those that wait for the connection included. */
  readonly #underWay = new Set<PipelinedQuery>();
  #givenUpCount = 0;
  #silentSince = 0;

  get owedCount(): number {
    return this.#underWay.size;
  }

  /** Whether results of abandoned statements are outstanding. Later ones would run after their callers gave up, too. */
  get isClogged(): boolean {
    return this.#givenUpCount > 0;
  }

  /** How long it has responded to none of its queries. */
  silentMs(checkCount: number): number {
    return this.#underWay.size === 0 ? 0 : (checkCount - this.#silentSince) * CHECK_INTERVAL_MS;
  }

  add(query: PipelinedQuery, checkCount: number): void {
    if (this.#underWay.size === 0) this.#silentSince = checkCount;
    query.sentAtCheck = checkCount;
    query.sentAtMs = performance.now();
    this.#underWay.add(query);
  }

  remove(query: PipelinedQuery, checkCount: number): void {
    this.#silentSince = checkCount;
    if (this.#underWay.delete(query) && query.isGivenUp) this.#givenUpCount--;
  }

  /** @param isLate `isFirst` marks the query that the server is working on */
  giveUp(error: Error, isLate: (query: PipelinedQuery, isFirst: boolean) => boolean): void {
    let isFirst = true;
    for (const query of this.#underWay) {
      if (!query.isGivenUp && isLate(query, isFirst)) {
        this.#givenUpCount++;
        query.giveUp(error);
      }
      isFirst = false;
    }
  }

  /** Fails the queries in flight. The next query opens another connection. */
  destroy(): void {
    this.client?.connection.stream.destroy();
    this.client = undefined;
  }

  /** Ends once every query is complete, at the latest after {@link CLOSE_TIMEOUT_MS}. */
  async close(): Promise<void> {
    await this.connecting?.catch(() => {});
    const deadline = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS);
    await this.client?.end();
    clearTimeout(deadline);
  }
}

/**
 * A fixed number of connections, opened when they are first needed and again after they were lost. Statements are sent
 * without waiting for the results of those before, because waking another process for each statement costs most. Each
 * goes to the connection with the fewest results outstanding, so few wait behind one that takes long.
 *
 * Each statement is a transaction of its own.
 */
export class PipelinedConnections implements QuerySender {
  readonly #openConnection: OpenConnection;
  readonly #slots: readonly Slot[];
  readonly #pulse: ServerPulse;
  readonly #patienceMs: number;
  readonly #queuePatienceMs: number;
  readonly #silenceLimitMs: number;
  readonly #durations: DurationObserver | undefined;
  readonly #checkTimer: NodeJS.Timeout;
  #checkCount = 0;
  #heardAtCheck = Number.NEGATIVE_INFINITY;
  #nextIndex = 0;
  #hasFailedToOpen = false;
  #closed = false;

  constructor(openConnection: OpenConnection, options: PoolOptions) {
    const { size, statementTimeoutMs, queuePatienceMs = Number.POSITIVE_INFINITY, pulse } = options;
    this.#openConnection = openConnection;
    this.#slots = Array.from({ length: size }, () => new Slot());
    this.#pulse = pulse;
    this.#patienceMs = statementTimeoutMs + PATIENCE_MARGIN_MS;
    this.#queuePatienceMs = queuePatienceMs;
    this.#silenceLimitMs = statementTimeoutMs + SILENCE_MARGIN_MS;
    this.#durations = options.durations;
    this.#checkTimer = setInterval(() => this.#checkAll(), CHECK_INTERVAL_MS).unref();
    pulse.join(this);
  }

  get openCount(): number {
    return this.#slots.filter(({ client }) => client !== undefined).length;
  }

  /** Whether there is no connection, and the last one that was tried did not open. */
  get isShutOut(): boolean {
    return this.openCount === 0 && this.#hasFailedToOpen;
  }

  /** How many statements wait for the server's response. */
  get owedCount(): number {
    return this.#slots.reduce((sum, slot) => sum + slot.owedCount, 0);
  }

  /** How long ago the server last responded, in milliseconds. */
  get heardAgoMs(): number {
    return (this.#checkCount - this.#heardAtCheck) * CHECK_INTERVAL_MS;
  }

  send(query: PipelinedQuery): void {
    if (this.#pulse.hung === undefined) this.sendUnasked(query);
    else query.handleError(this.#pulse.hung);
  }

  /** Sends a query although the server hangs, as far as is known. */
  sendUnasked(query: PipelinedQuery): void {
    const inTurn = this.#nextSlot();
    const nowMs = performance.now();
    const mayOpen = (slot: Slot) => slot.client === undefined && !slot.isClogged && slot.replaceAtMs <= nowMs;
    const slot = this.#leastOwing() ?? (mayOpen(inTurn) ? inTurn : this.#slots.find(mayOpen));
    if (slot === undefined) {
      query.handleError(ALL_LATE);
      return;
    }
    query.onComplete = (completed, error) => this.#onComplete(slot, completed, error);
    slot.add(query, this.#checkCount);
    if (slot.client === undefined) {
      void this.#sendWhenConnected(slot, query);
      return;
    }
    slot.client.query(query);
    // While a connection is being opened, the others serve.
    if (mayOpen(inTurn) && inTurn.retryAtMs <= nowMs) this.#connect(inTurn).catch(() => {});
  }

  /** Fails all queries, and closes all connections. */
  abandon(error: Error): void {
    for (const slot of this.#slots) {
      slot.giveUp(error, () => true);
      slot.destroy();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#slots.map((slot) => slot.close()));
    clearInterval(this.#checkTimer);
  }

  #checkAll(): void {
    this.#checkCount++;
    let longestMs = 0;
    for (const slot of this.#slots) {
      const silentMs = slot.silentMs(this.#checkCount);
      if (silentMs >= QUIET_MS) slot.giveUp(TOO_LATE, this.#isLate);
      if (silentMs >= (slot.wasSilent ? SILENT_AGAIN_LIMIT_MS : this.#silenceLimitMs) && slot.client !== undefined) {
        slot.wasSilent = true;
        slot.replaceAtMs = performance.now() + REPLACE_DELAY_MS;
        slot.destroy();
      }
      longestMs = Math.max(longestMs, silentMs);
    }
    if (longestMs >= QUIET_MS) this.#pulse.onSilence(longestMs);
  }

  readonly #isLate = ({ sentAtCheck, patienceMs = this.#patienceMs }: PipelinedQuery, isFirst: boolean): boolean =>
    (this.#checkCount - sentAtCheck) * CHECK_INTERVAL_MS >=
    (isFirst ? patienceMs : Math.min(patienceMs, this.#queuePatienceMs));

  #onComplete(slot: Slot, query: PipelinedQuery, error?: Error): void {
    slot.remove(query, this.#checkCount);
    this.#durations?.observe((performance.now() - query.sentAtMs) / 1_000);
    if (error !== undefined && !(error instanceof pg.DatabaseError)) return;
    this.#heardAtCheck = this.#checkCount;
    slot.wasSilent = false;
    // A migration, for instance, has changed what the connection's statements were prepared for.
    if (error !== undefined && STALE_STATEMENT_STATES.has(error.code ?? '')) slot.destroy();
  }

  /** The least loaded, by turns where several are. Those that are silent come last. */
  #leastOwing(): Slot | undefined {
    let least: Slot | undefined;
    let leastOwed = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[(this.#nextIndex + i) % this.#slots.length] as Slot; // within the array
      if (slot.client === undefined || slot.isClogged) continue;
      if (slot.owedCount === 0) return slot;
      const owed = slot.silentMs(this.#checkCount) >= STALLED_MS ? Number.MAX_VALUE : slot.owedCount;
      if (least !== undefined && owed >= leastOwed) continue;
      least = slot;
      leastOwed = owed;
    }
    return least;
  }

  async #sendWhenConnected(slot: Slot, query: PipelinedQuery): Promise<void> {
    try {
      await this.#connect(slot);
      if (slot.client === undefined) throw storageUnavailable('the connection was lost');
      if (query.isGivenUp) slot.remove(query, this.#checkCount);
      else slot.client.query(query);
    } catch (error) {
      query.handleError(toStorageError(error));
    }
  }

  #nextSlot(): Slot {
    this.#nextIndex = (this.#nextIndex + 1) % this.#slots.length;
    return this.#slots[this.#nextIndex] as Slot; // the index is within the array
  }

  #connect(slot: Slot): Promise<void> {
    slot.connecting ??= this.#open(slot).finally(() => {
      slot.connecting = undefined;
    });
    return slot.connecting;
  }

  async #open(slot: Slot): Promise<void> {
    if (this.#closed) throw storageUnavailable('this process has closed its connections');
    let client: pg.Client | undefined;
    // The queries in flight fail by themselves, and the next one opens another connection.
    const forget = () => {
      if (slot.client === client) slot.client = undefined;
    };
    try {
      client = await this.#openConnection(forget);
    } catch (error) {
      slot.retryAtMs = performance.now() + RECONNECT_DELAY_MS;
      this.#hasFailedToOpen = true;
      throw error;
    }
    slot.client = client;
    this.#hasFailedToOpen = false;
    this.#heardAtCheck = this.#checkCount;
  }
}

/** The connections of a store, by what runs on them, so that short statements never queue behind long ones. */
export interface ConnectionPools {
  /** For look-ups of keys, which no lock of orders holds up, and pings. */
  readonly keys: PipelinedConnections;
  /** For short reads and pages. */
  readonly reads: PipelinedConnections;
  /** For statements that commit. */
  readonly writes: PipelinedConnections;
  /** For statements that may read the whole table to find few orders. */
  readonly scans: PipelinedConnections;
}
