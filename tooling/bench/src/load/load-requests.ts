/*
 * Sends requests to a server, from a process of its own, and prints what came back as one line of JSON (LoadReport). Its
 * argument is a LoadTask, as JSON.
 */
import { createHistogram } from 'node:perf_hooks';
import { Client, type Dispatcher } from 'undici';

export interface LoadTask {
  /** As in `http://127.0.0.1:3000`. */
  readonly origin: string;
  readonly method: 'GET' | 'DELETE';
  /** Where `ids` are given, the id of each request is put behind it. */
  readonly path: string;
  /** Each is used once; the load ends when they do. */
  readonly ids?: { readonly first: number; readonly end: number };
  readonly apiKey: string;
  readonly connections: number;
  readonly seconds: number;
  /** Sends at this rate, whatever comes back, and counts each wait from when its request was due. Else: the next request when one is answered. */
  readonly perSecond?: number;
}

export interface LoadReport {
  /** How many were sent, all of them answered. */
  readonly requests: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Of all bodies. */
  readonly bytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const task: LoadTask = JSON.parse(process.argv[2] ?? ''); // by whoever started this
const latencies = createHistogram();
const statuses: Record<string, number> = {};
let sent = 0;
let bytes = 0;
let nextId = task.ids?.first ?? 0;

const headers = { authorization: `Bearer ${task.apiKey}` };
const clients = Array.from({ length: task.connections }, () => new Client(task.origin, { pipelining: 1 }));
const startMs = performance.now();
const endMs = startMs + task.seconds * 1000;

if (task.perSecond === undefined) await Promise.all(clients.map(keepBusy));
else await sendAtRate(task.perSecond);

const report: LoadReport = {
  requests: sent,
  seconds: (performance.now() - startMs) / 1000,
  statuses,
  bytes,
  p50Ms: latencies.percentile(50) / 1e6,
  p99Ms: latencies.percentile(99) / 1e6,
  maxMs: latencies.max / 1e6,
};
console.log(JSON.stringify(report));
await Promise.all(clients.map((client) => client.close()));

/** Sends one request after the other. The one handler serves them all: fewer objects, less of the machine for us. */
function keepBusy(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAtMs = 0;
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_controller, status) {
        statuses[status] = (statuses[status] ?? 0) + 1;
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length;
      },
      onResponseEnd() {
        record(performance.now() - sentAtMs);
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

async function sendAtRate(perSecond: number): Promise<void> {
  const answers: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (;;) {
        const dueMs = startMs + (sent * 1000) / perSecond;
        if (dueMs > performance.now()) return;
        const client = clients[sent % clients.length];
        if (dueMs >= endMs || client === undefined) break;
        sent++;
        answers.push(sendOne(client, dueMs));
      }
      clearInterval(timer);
      resolve();
    }, 1);
  });
  await Promise.all(answers);
}

async function sendOne(client: Client, dueMs: number): Promise<void> {
  const { statusCode, body } = await client.request({ path: task.path, method: task.method, headers });
  bytes += (await body.arrayBuffer()).byteLength;
  statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
  record(performance.now() - dueMs);
}

/** Nanoseconds, which a histogram counts from 1 on. */
function record(latencyMs: number): void {
  latencies.record(Math.max(1, Math.round(latencyMs * 1e6)));
}
