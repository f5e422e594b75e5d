import type { Clock, OrderEvent } from '@petstore/domain';
import type { OrderEventObserver, OrderEventStore } from '@petstore/persistence';
import { type MetricFamily, renderMetric } from './exposition.ts';

const RECORDED = {
  name: 'petstore_order_events_recorded_total',
  type: 'counter',
  help: 'Changes of orders that requests to this server have made.',
} as const satisfies MetricFamily;
const DELIVERED = {
  name: 'petstore_order_events_delivered_total',
  type: 'counter',
  help: 'Events given to subscribers, each counted for each of them.',
} as const satisfies MetricFamily;
const SUBSCRIBERS = {
  name: 'petstore_order_event_subscribers',
  type: 'gauge',
  help: 'Subscriptions to the changes of orders.',
} as const satisfies MetricFamily;
const LAG = {
  name: 'petstore_order_event_lag_seconds',
  type: 'gauge',
  help: 'How long after its change the latest event was read for subscribers, or for how long a transaction holds reading up; NaN: none was read yet.',
} as const satisfies MetricFamily;

/** What becomes of events, for Prometheus. */
export class EventMetrics implements OrderEventObserver {
  readonly #clock: Clock;
  /** Of requests to this process. */
  recordedCount = 0;
  #deliveredCount = 0;
  #lagSeconds = Number.NaN;
  #countFollowers = () => 0;
  #heldUpSeconds = () => 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  observe(events: Pick<OrderEventStore, 'followerCount' | 'heldUpMs' | 'observe'>): void {
    events.observe(this);
    this.#countFollowers = () => events.followerCount;
    this.#heldUpSeconds = () => events.heldUpMs / 1_000;
  }

  onRead(events: readonly OrderEvent[]): void {
    const at = events.at(-1)?.at;
    if (at !== undefined) this.#lagSeconds = Math.max(0, this.#clock().getTime() - at.getTime()) / 1_000;
  }

  onDelivered(count: number): void {
    this.#deliveredCount += count;
  }

  render(): string {
    return [
      renderMetric(RECORDED, [{ value: this.recordedCount }]),
      renderMetric(DELIVERED, [{ value: this.#deliveredCount }]),
      renderMetric(SUBSCRIBERS, [{ value: this.#countFollowers() }]),
      renderMetric(LAG, [{ value: this.#heldUpSeconds() || this.#lagSeconds }]),
    ].join('');
  }
}
