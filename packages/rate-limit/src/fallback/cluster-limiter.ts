// The packages that import this one check its sources, too, and find the declaration only this way.
/// <reference path="./cluster-key-slot.d.ts" />
import calculateSlot from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import type { ServingLimiter } from '../port.ts';
import { WHOLE } from '../redis/connection-trouble.ts';
import type { RateLimitSubject } from '../subject.ts';
import { DecisionMemory } from './decision-memory.ts';
import { type RedisMaster, ResilientLimiter, type ResilientLimiterOptions } from './resilient-limiter.ts';

/** Creates the limiter to serve with. In a cluster each master may fail by itself. */
export function createResilientLimiter(options: ResilientLimiterOptions): ServingLimiter {
  const { redis } = options;
  if (redis instanceof Cluster) return new ClusterLimiter(options, redis);
  const memory = new DecisionMemory(options.nowMs);
  return new ResilientLimiter(options, { name: WHOLE, memory, state: 'starting', canProbe: () => true });
}

/** A {@link ResilientLimiter} for each master of a Redis Cluster. */
class ClusterLimiter implements ServingLimiter {
  readonly #options: ResilientLimiterOptions;
  readonly #cluster: Cluster;
  readonly #keyPrefix: string;
  readonly #memory: DecisionMemory;
  readonly #limiters = new Map<string, ResilientLimiter>();
  /** Counts until the masters are known. */
  readonly #unassigned: ResilientLimiter;

  constructor(options: ResilientLimiterOptions, cluster: Cluster) {
    this.#options = options;
    this.#cluster = cluster;
    this.#keyPrefix = cluster.options.keyPrefix ?? '';
    this.#memory = new DecisionMemory(options.nowMs);
    // A probe that is sent before all masters are connected might pass, and requests for the others would fail.
    const canProbe = () => cluster.nodes('master').every(({ status }) => status === 'ready');
    this.#unassigned = this.#open({ name: WHOLE, state: 'starting', canProbe });
    cluster.on('+node', (node: Redis) => node.once('ready', this.#probe));
  }

  get started(): Promise<void> {
    return this.#unassigned.started;
  }

  get isDegraded(): boolean {
    return [...this.#limiters.values()].some((limiter) => limiter.isDegraded);
  }

  get awayReason(): string | undefined {
    for (const [name, { awayReason }] of this.#limiters) {
      if (awayReason !== undefined) return name === WHOLE ? awayReason : `${name}: ${awayReason}`;
    }
    return undefined;
  }

  readonly check: ServingLimiter['check'] = (subject, cost) => this.#limiterOf(subject).check(subject, cost);
  readonly peek: ServingLimiter['peek'] = (subject) => this.#limiterOf(subject).peek(subject);
  readonly recall: ServingLimiter['recall'] = (subject) => this.#limiterOf(subject).recall(subject);
  readonly debit: ServingLimiter['debit'] = (subject, use) => this.#limiterOf(subject).debit(subject, use);

  close(): void {
    for (const limiter of this.#limiters.values()) limiter.close();
  }

  readonly #probe = (): void => {
    for (const limiter of this.#limiters.values()) limiter.probe();
  };

  #limiterOf({ storageKey }: RateLimitSubject): ResilientLimiter {
    const name = this.#cluster.slots[calculateSlot(this.#keyPrefix + storageKey)]?.[0];
    if (name === undefined) return this.#unassigned;
    return this.#limiters.get(name) ?? this.#open({ name, state: this.#stateOf(name), canProbe: () => true });
  }

  #open(master: Omit<RedisMaster, 'memory'>): ResilientLimiter {
    const limiter = new ResilientLimiter(this.#options, { ...master, memory: this.#memory });
    this.#limiters.set(master.name, limiter);
    return limiter;
  }

  #stateOf(master: string): RedisMaster['state'] {
    const isReady = this.#cluster
      .nodes('master')
      .some(({ options: { host, port }, status }) => `${host}:${port}` === master && status === 'ready');
    return isReady ? 'connected' : 'connecting';
  }
}
