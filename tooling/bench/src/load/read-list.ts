/*
 * Lists all orders with the client package, as an internal service does, and prints a ReadListReport as one line of JSON.
 * Its argument is a ReadListTask, as JSON.
 */
import { createPetstoreClient } from '@petstore/client';

export interface ReadListTask {
  readonly origin: string;
  readonly apiKey: string;
  readonly interface: 'tRPC' | 'REST';
}

export interface ReadListReport {
  readonly orders: number;
  readonly totalMs: number;
  /** Until the first order was there. */
  readonly firstOrderMs: number;
  /** The most resident memory of this process, in MB. */
  readonly clientPeakMb: number;
}

const task: ReadListTask = JSON.parse(process.argv[2] ?? ''); // by the scenario
const client = createPetstoreClient({ baseUrl: task.origin, apiKey: task.apiKey });
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
const totalMs = performance.now() - startMs;
const clientPeakMb = process.resourceUsage().maxRSS / 1024;
const report: ReadListReport = { orders, totalMs, firstOrderMs, clientPeakMb };
console.log(JSON.stringify(report));
