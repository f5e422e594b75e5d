/*
 * Lists all orders by the client package, in a process of its own, as an internal service does, and prints what that took
 * as one line of JSON (ReadListReport). Its argument is a ReadListTask, as JSON.
 */
import { createPetstoreClient } from '@petstore/client';

export interface ReadListTask {
  readonly origin: string;
  readonly apiKey: string;
  readonly interface: 'tRPC' | 'REST';
}

export interface ReadListReport {
  readonly orders: number;
  readonly milliseconds: number;
  /** Until the first order was there. */
  readonly firstOrderMs: number;
  /** By how much the most memory that this process had is above what it had before, in MB. */
  readonly growthMb: number;
}

const task: ReadListTask = JSON.parse(process.argv[2] ?? ''); // by whoever started this
const client = createPetstoreClient({ baseUrl: task.origin, apiKey: task.apiKey });
const peakMb = () => process.resourceUsage().maxRSS / 1024;

const peakBeforeMb = peakMb();
const startMs = performance.now();
let firstOrderMs = 0;
let orders = 0;
const count = (more: number) => {
  if (orders === 0) firstOrderMs = performance.now() - startMs;
  orders += more;
};
if (task.interface === 'tRPC') {
  for await (const batch of await client.orders.list.query()) count(batch.length);
} else {
  for await (const _order of client.rest.listOrders()) count(1);
}
const milliseconds = performance.now() - startMs;
const report: ReadListReport = { orders, milliseconds, firstOrderMs, growthMb: peakMb() - peakBeforeMb };
console.log(JSON.stringify(report));
