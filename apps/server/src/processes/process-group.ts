import type { Settings } from '@petstore/runtime';
import { RuntimeError } from '@petstore/runtime';
import type { Logger } from 'pino';
import { ProcessFailure } from '../failure.ts';
import type { ReadinessReport } from '../operations/health.ts';
import type { Announce, ServingFacts } from '../operations/operations.ts';
import { mergeMetrics } from './merge-metrics.ts';
import { mergeReadiness, silent } from './merge-readiness.ts';
import { type ProcessEnd, ServerProcess } from './server-process.ts';

export interface ProcessGroupOptions {
  readonly logger: Logger;
  /** Told when the group cannot start, or not go on. */
  readonly onFatal: (error: Error) => void;
}

/** Between two processes that take the place of others: one that ends at once, again and again, must not be all we do. */
const REPLACEMENT_INTERVAL_MS = 1_000;
/** Who has not ended by then never will: requests may take 5 s of it. */
const STOP_TIMEOUT_MS = 7_000;

/** The processes of one server. Each that ends is replaced until the group is stopped. */
export class ProcessGroup {
  readonly #settings: Settings;
  readonly #options: ProcessGroupOptions;
  readonly #processes = new Map<number, ServerProcess>();
  #announce: Announce | undefined;
  /** Whether all have served at the same time. */
  #hasStarted = false;
  #isStopping = false;
  #replacements = 0;
  #nextReplacementAtMs = 0;
  /** What a process is to listen on. Those that ask for any port, 0, share one, as long as there is one that serves. */
  #portSetting: number;
  /** The port itself, once it is known. */
  #port: number | undefined;

  constructor(settings: Settings, options: ProcessGroupOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#portSetting = settings.port;
  }

  /** @param announce called once, when all serve */
  start(announce: Announce): void {
    this.#announce = announce;
    for (let number = 1; number <= this.#settings.processes; number++) this.#start(number);
  }

  /** As good as that of the worst process that gets requests. Ready for the first time when all do. */
  async readiness(): Promise<ReadinessReport> {
    const all = [...this.#processes.values()];
    const serving = all.filter(({ isServing }) => isServing);
    // Once all have served, a few may do without the others for a while.
    const asked = this.#hasStarted && serving.length > 0 ? serving : all;
    const reports = (await Promise.all(asked.map(askReadiness))).filter((report) => report !== undefined);
    const report = reports.length === 0 ? silent('no process serves') : mergeReadiness(reports);
    const { problems } = report;
    if (this.#isStopping) {
      return { ...report, status: 'not ready', problems: [...new Set(['the server is stopping', ...problems])] };
    }
    if (!this.#hasStarted || serving.length === all.length) return report;
    const missing = `processes that are being replaced: ${all.length - serving.length} of ${all.length}`;
    return { ...report, problems: [...problems, missing] };
  }

  /** Those of every process, and about the group. In Prometheus' text format. */
  async metrics(): Promise<string> {
    const texts: [number, string][] = [];
    for (const { number, text } of await Promise.all([...this.#processes.values()].map(askMetrics))) {
      if (text !== undefined) texts.push([number, text]);
    }
    return this.#ownMetrics() + mergeMetrics(texts);
  }

  /** Ends all processes in order. @throws RuntimeError where some had to be killed */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const processes = [...this.#processes.values()];
    for (const process of processes) process.stop();
    let late: ServerProcess[] = [];
    const timer = setTimeout(() => {
      late = processes.filter(({ hasEnded }) => !hasEnded);
      for (const process of late) process.kill();
    }, STOP_TIMEOUT_MS);
    await Promise.all(processes.map(({ ended }) => ended));
    clearTimeout(timer);
    if (late.length === 0) return;
    throw new RuntimeError(`${late.length} of ${processes.length} processes did not stop, and were killed.`);
  }

  #start(number: number): void {
    const environment = { PORT: String(this.#portSetting), ADMIN_PORT: '0' };
    const process = new ServerProcess(number, environment, {
      onServing: (facts) => this.#onServing(process, facts),
      onEnded: (end) => this.#onEnded(number, end),
    });
    this.#processes.set(number, process);
  }

  #onServing(process: ServerProcess, facts: ServingFacts): void {
    const port = Number(facts.listenUrl.slice(facts.listenUrl.lastIndexOf(':') + 1));
    this.#port ??= port;
    const { processes } = this.#settings;
    if (port !== this.#port) {
      // The last that had ours ended before this one came to share it.
      process.kill();
    } else if (!this.#hasStarted && !this.#isStopping && this.#servingCount === processes) {
      this.#hasStarted = true;
      this.#announce?.({ ...facts, processes });
    }
  }

  #onEnded(number: number, end: ProcessEnd): void {
    if (this.#isStopping) return;
    const { logger, onFatal } = this.#options;
    const how = end.signal ?? (end.exitCode === null ? 'no start' : `exit code ${end.exitCode}`);
    const isHopeless = end.failure !== undefined && this.#servingCount === 0;
    if (!end.hasServed && (!this.#hasStarted || isHopeless)) {
      const text = `petstore: Server process ${number} ended with ${how} before it served.`;
      onFatal(new ProcessFailure(end.failure ?? { text, exitCode: 1 }));
      return;
    }
    logger.error({ process: number, reason: end.failure?.text ?? how }, 'a server process has ended; it is replaced');
    // Nobody is left to share a port with, and callers know this one.
    if (this.#servingCount === 0) this.#portSetting = this.#port ?? this.#portSetting;
    this.#replacements++;
    const waitMs = Math.max(0, this.#nextReplacementAtMs - performance.now());
    this.#nextReplacementAtMs = performance.now() + waitMs + REPLACEMENT_INTERVAL_MS;
    setTimeout(() => !this.#isStopping && this.#start(number), waitMs).unref();
  }

  get #servingCount(): number {
    return [...this.#processes.values()].filter(({ isServing }) => isServing).length;
  }

  #ownMetrics(): string {
    return [
      '# HELP petstore_processes_serving Server processes that get requests.',
      '# TYPE petstore_processes_serving gauge',
      `petstore_processes_serving ${this.#servingCount}`,
      '# HELP petstore_process_replacements_total How often a server process has ended and was replaced.',
      '# TYPE petstore_process_replacements_total counter',
      `petstore_process_replacements_total ${this.#replacements}`,
      '',
    ].join('\n');
  }
}

/** @returns `undefined` where it is no more */
async function askReadiness(process: ServerProcess): Promise<ReadinessReport | undefined> {
  if (process.isLoading) return silent('the server is starting');
  const report = await process.ask('readiness');
  return report ?? (process.hasEnded ? undefined : silent(`process ${process.number} does not answer`));
}

const askMetrics = async (process: ServerProcess) => ({ number: process.number, text: await process.ask('metrics') });
