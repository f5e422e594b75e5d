import type { OrderEventStore } from '@petstore/persistence';
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

type EventSource = Pick<OrderEventStore, 'followerCount' | 'deliveredCount' | 'heldUpMs' | 'lagMs'>;

/** What becomes of events, for Prometheus. */
export class EventMetrics {
  /** Of requests to this process. */
  recordedCount = 0;
  #events: EventSource | undefined;

  observe(events: EventSource): void {
    this.#events = events;
  }

  render(): string {
    const { followerCount = 0, deliveredCount = 0, heldUpMs = 0, lagMs = Number.NaN } = this.#events ?? {};
    return [
      renderMetric(RECORDED, [{ value: this.recordedCount }]),
      renderMetric(DELIVERED, [{ value: deliveredCount }]),
      renderMetric(SUBSCRIBERS, [{ value: followerCount }]),
      renderMetric(LAG, [{ value: (heldUpMs || lagMs) / 1_000 }]),
    ].join('');
  }
}
