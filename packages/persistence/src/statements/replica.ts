import { setTimeout as sleep } from 'node:timers/promises';
import { isTimedOut, storageUnavailable } from '../storage-error.ts';
import { coalescePerTick } from './coalesce-per-tick.ts';
import { type BatchRequest, copyOrders, type OrderBatch } from './copy-orders.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';
import type { QuerySender } from './pipelined-query.ts';
import {
  isNotReplayed,
  type LogPosition,
  PositionGuard,
  probeReplica,
  type ReplicaProblem,
  takePosition,
} from './replica-position.ts';
import type { ServerPulse } from './server-pulse.ts';

/** Where long lists are read. */
export type ReplicaState =
  | { readonly readFrom: 'replica' }
  | { readonly readFrom: 'primary'; readonly problem: ReplicaProblem };

/** What became of reading long lists elsewhere than on the primary. */
export interface ReplicaReport {
  readonly state: ReplicaState;
  /** How much of the primary's log it had yet to replay at the last probe; `undefined` where that is not known. */
  readonly lagBytes: number | undefined;
  /** Batches and searches by where they were read. */
  readonly readCounts: Readonly<Record<ReplicaState['readFrom'], number>>;
}

/** The connections to a replica, by what runs on them. */
interface ReplicaPools {
  readonly batches: PipelinedConnections;
  readonly scans: PipelinedConnections;
}

interface ReplicaOptions {
  readonly pools: ReplicaPools;
  /** That of the pools. */
  readonly pulse: ServerPulse;
  /** Connections to the primary for short reads. */
  readonly primary: QuerySender;
  /** Called with the first state that is seen, and whenever it changes. */
  readonly onChange?: ((state: ReplicaState) => void) | undefined;
}

/** Between two probes of the replica; also how far it may stay behind and still be read. */
const PROBE_INTERVAL_MS = 1_000;
/** After a read has taken so long, the replica is probed. */
const SLOW_READ_MS = 250;
/** No response to a probe for so long counts as away. */
const PROBE_TIMEOUT_MS = 750;
/** How long a search waits until the replica holds what it must. */
const PATIENCE_MS = 1_000;
/** Between two attempts at a replica that did not hold enough. */
const RETRY_MS = 25;

/** A search is begun nowhere with less time left: it would only keep a processor busy. */
const SEARCH_LEFT_MIN_MS = 300;

const TOO_LATE = storageUnavailable('the replica did not respond in time');

const FIRST_STATE: ReplicaState = { readFrom: 'primary', problem: 'it has not been probed yet' };

/**
 * Reads long lists and searches from a standby of the primary, where it has replayed all that was committed when they
 * began. Where it cannot, the caller reads from the primary: no list fails because of a replica,
 * and a search only where too little of its time is left.
 */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #readCounts = { replica: 0, primary: 0 };
  /** Of the reads under way, what gives each of them up. */
  readonly #reads = new Set<() => void>();
  #state: ReplicaState = FIRST_STATE;
  #lagBytes: number | undefined;
  #retryAt = 0;
  /** Taken at the last probes: the first of them {@link PROBE_INTERVAL_MS} ago or longer. */
  #formerPosition: LogPosition | undefined;
  #latest: { readonly position: LogPosition; readonly takenAt: number } | undefined;
  #probing: Promise<void> | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#probeSoon(), PROBE_INTERVAL_MS).unref();
    this.#probeSoon();
  }

  get report(): ReplicaReport {
    return { state: this.#state, lagBytes: this.#lagBytes, readCounts: { ...this.#readCounts } };
  }

  /**
   * What a replica must have replayed to hold all that has been committed up to now.
   *
   * @returns `undefined` where the primary has to be read
   */
  async position(): Promise<LogPosition | undefined> {
    if (this.#state.readFrom === 'primary') return undefined;
    try {
      return await this.#takePosition('');
    } catch {
      this.#probeSoon();
      return undefined;
    }
  }

  /** Positions that are wanted in the same tick are one, so that their lists can share batches. */
  readonly #takePosition = coalescePerTick(
    () => '',
    () => takePosition(this.#options.primary),
  );

  /**
   * Reads a batch of a list, without waiting: until the replica holds enough, the primary serves.
   *
   * @returns `undefined` where the primary has to be read
   */
  async readBatch<Batch>(
    request: BatchRequest<Batch>,
    position: LogPosition | undefined,
  ): Promise<OrderBatch<Batch> | undefined> {
    const mayHoldIt = position !== undefined && performance.now() >= this.#retryAt;
    const batch = mayHoldIt ? await this.#read(this.#options.pools.batches, request, position) : undefined;
    return this.#counted(batch === 'not replayed' ? undefined : batch);
  }

  /**
   * Searches through all orders. A search is worth a wait, because it keeps a processor of the primary busy.
   *
   * @param deadlineMs when its caller waits no longer, by `performance.now()`
   * @returns `undefined` where the primary has to be read
   * @throws StorageUnavailableError
   */
  async search<Batch>(request: BatchRequest<Batch>, deadlineMs: number): Promise<OrderBatch<Batch> | undefined> {
    const position = await this.position();
    const patienceEnd = Math.min(performance.now() + PATIENCE_MS, deadlineMs - SEARCH_LEFT_MIN_MS);
    while (position !== undefined && this.#state.readFrom === 'replica') {
      const batch = await this.#read(this.#options.pools.scans, request, position, deadlineMs - performance.now());
      if (batch === undefined && deadlineMs - performance.now() < SEARCH_LEFT_MIN_MS) throw TOO_LATE;
      if (batch !== 'not replayed') return this.#counted(batch);
      if (performance.now() + RETRY_MS >= patienceEnd) break;
      await sleep(RETRY_MS);
    }
    return this.#counted(undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.pulse.close();
    this.#giveUpReads();
    await Promise.all(Object.values(this.#options.pools).map((pool) => pool.close()));
  }

  /** @returns `undefined` where the replica could not be read */
  #read<Batch>(
    pool: QuerySender,
    request: BatchRequest<Batch>,
    position: LogPosition,
    patienceMs?: number,
  ): Promise<OrderBatch<Batch> | 'not replayed' | undefined> {
    if (this.#state.readFrom === 'primary') return Promise.resolve(undefined);
    const { promise, resolve, reject } = Promise.withResolvers<OrderBatch<Batch> | 'not replayed' | undefined>();
    const giveUp = () => resolve(undefined);
    const slow = setTimeout(() => this.#probeSoon(), SLOW_READ_MS).unref();
    this.#reads.add(giveUp);
    copyOrders(pool, request, new PositionGuard(position), patienceMs)
      .then(resolve, (error: Error) => {
        if (isNotReplayed(error)) this.#retryAt = performance.now() + RETRY_MS;
        // A promoted replica has "not replayed" either; the next probe finds out.
        else this.#probeSoon();
        // A search that takes too long here would take the primary as long.
        if (pool === this.#options.pools.scans && isTimedOut(error)) reject(error);
        else resolve(isNotReplayed(error) ? 'not replayed' : undefined);
      })
      .finally(() => {
        clearTimeout(slow);
        this.#reads.delete(giveUp);
      });
    return promise;
  }

  #counted<Batch>(batch: OrderBatch<Batch> | undefined): OrderBatch<Batch> | undefined {
    this.#readCounts[batch === undefined ? 'primary' : 'replica']++;
    return batch;
  }

  #giveUpReads(): void {
    for (const giveUp of this.#reads) giveUp();
    this.#reads.clear();
  }

  #probeSoon(): void {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
  }

  async #probe(): Promise<void> {
    let problem: ReplicaProblem | undefined;
    let lagBytes: number | undefined;
    try {
      const position = await this.#positionToProbe();
      const { batches } = this.#options.pools;
      ({ problem, lagBytes } = await probeReplica(batches, position, this.#formerPosition, PROBE_TIMEOUT_MS));
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
      this.#giveUpReads();
    }
    this.#lagBytes = lagBytes;
    this.#become(problem === undefined ? { readFrom: 'replica' } : { readFrom: 'primary', problem });
  }

  async #positionToProbe(): Promise<LogPosition> {
    const position = await takePosition(this.#options.primary);
    const takenAt = performance.now();
    if (this.#latest === undefined || takenAt - this.#latest.takenAt >= PROBE_INTERVAL_MS) {
      this.#formerPosition = this.#latest?.position;
      this.#latest = { position, takenAt };
    }
    return position;
  }

  #become(state: ReplicaState): void {
    const before = this.#state;
    this.#state = state;
    const isSame = state.readFrom === before.readFrom && before !== FIRST_STATE;
    if (!isSame) this.#options.onChange?.(state);
  }
}
