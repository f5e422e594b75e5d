/*
 * Sends requests to a server, each connection the next one after a response, and prints a LoadReport as one line of JSON.
 * Its argument is a LoadTask, as JSON.
 */
import { createHistogram } from 'node:perf_hooks';
import { Client, type Dispatcher } from 'undici';

export interface LoadTask {
  /** As in `http://127.0.0.1:3000`. */
  readonly origin: string;
  readonly method: 'GET' | 'DELETE';
  /** With `ids` the id of each request is appended. */
  readonly path: string;
  /** Each is used once; the load ends when they do. */
  readonly ids?: { readonly first: number; readonly end: number };
  readonly apiKey: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadReport {
  /** How many were sent, each with a response. */
  readonly requests: number;
  /** From the first request to the last response. */
  readonly seconds: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const task: LoadTask = JSON.parse(process.argv[2] ?? ''); // by the scenario
const latencies = createHistogram();
const statuses: Record<string, number> = {};
let sent = 0;
let nextId = task.ids?.first ?? 0;

const headers = { authorization: `Bearer ${task.apiKey}` };
const clients = Array.from({ length: task.connections }, () => new Client(task.origin, { pipelining: 1 }));
const startMs = performance.now();
const endMs = startMs + task.seconds * 1000;

await Promise.all(clients.map(keepBusy));

const report: LoadReport = {
  requests: sent,
  seconds: (performance.now() - startMs) / 1000,
  statuses,
  p50Ms: latencies.percentile(50) / 1e6,
  p99Ms: latencies.percentile(99) / 1e6,
};
console.log(JSON.stringify(report));
await Promise.all(clients.map((client) => client.close()));

/** Sends one request after the other. One handler serves them all, to leave more of the processors to the server. */
function keepBusy(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAtMs = 0;
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_controller, status) {
        statuses[status] = (statuses[status] ?? 0) + 1;
      },
      onResponseData() {},
      onResponseEnd() {
        // In nanoseconds, which a histogram counts from 1 on.
        latencies.record(Math.max(1, Math.round((performance.now() - sentAtMs) * 1e6)));
        next();
      },
      onResponseError: (_controller, error) => reject(error),
    };
    const next = () => {
      const path = performance.now() < endMs ? nextPath() : undefined;
      if (path === undefined) return resolve();
      sent++;
      sentAtMs = performance.now();
      client.dispatch({ path, method: task.method, headers }, handler);
    };
    next();
  });
}

/** @returns `undefined` once all ids were used */
function nextPath(): string | undefined {
  if (task.ids === undefined) return task.path;
  return nextId < task.ids.end ? task.path + nextId++ : undefined;
}
