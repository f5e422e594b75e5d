import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTemporaryFolder, endWithTestRun } from '@petstore/testing';
import { vi } from 'vitest';
import { ALERT_RULES_FILE, ALERTS } from '../../../observability/support/committed-files.ts';
import { extrapolate, type InputSeries, nameOf, type Timeline } from './extrapolate.ts';
import type { Span } from './fault-recordings.ts';

/** The test command unpacks the programs of Prometheus here if the machine has none. */
const UNPACKED = join(import.meta.dirname, '../../../../../../node_modules/.cache/prometheus/usr/bin');

/** @returns the program that the test command has unpacked, else the name of the machine's own */
function findProgram(name: 'promtool' | 'prometheus'): string {
  const unpacked = join(UNPACKED, name);
  return existsSync(unpacked) ? unpacked : name;
}

/** Runs promtool. @returns its output. @throws Error with its output if it exits with an error */
export function promtool(args: readonly string[], input?: string): string {
  return execFileSync(findProgram('promtool'), args, { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** An alert as its receiver sees it. */
interface RaisedAlert {
  readonly name: string;
  readonly severity: string;
  readonly summary: string;
  readonly description: string;
}

const EXPRESSIONS = ALERTS.map(({ expr }) => expr).join('\n');
const NAMES = new Set(EXPRESSIONS.match(/\w+/g));
const BOUNDS = Array.from(EXPRESSIONS.matchAll(/\ble=~?"(.*?)"/g), ([, bound]) => new RegExp(`^(?:${bound})$`));

/** Whether a rule reads the series. Of a histogram, rules read one or two buckets. */
function isRead(series: string): boolean {
  const bound = /[{,]le="([^"]+)"/.exec(series)?.[1];
  return NAMES.has(nameOf(series)) && (bound === undefined || BOUNDS.some((each) => each.test(bound)));
}

/** What the rules have raised. */
interface Evaluation {
  /** For each span, the names and severities of the alerts that were raised at any moment of it. */
  readonly raised: readonly (readonly string[])[];
  /** The wanted alerts. */
  readonly texts: readonly RaisedAlert[];
}

/**
 * Lets promtool evaluate the rules once a minute. Its test expects no alert, so it reports all that are raised.
 *
 * @param wanted the alert whose texts are wanted. @default none
 * @param stored how Prometheus changes series when it stores them. @default not at all, as Prometheus 2
 */
export async function evaluateRules(
  timelines: readonly Timeline[],
  spans: readonly Span[],
  wanted?: { readonly name: string; readonly atMinute: number },
  stored: (series: readonly InputSeries[]) => readonly InputSeries[] = (series) => series,
): Promise<Evaluation> {
  using folder = createTemporaryFolder();
  const file = join(folder.path, 'test.yaml');
  const queries = spans.map(({ from, to }) => ({
    expr: `count by (alertname, severity) (count_over_time(ALERTS{alertstate="firing"}[${to - from}m]))`,
    eval_time: duration(to),
    exp_samples: [],
  }));
  const alerts = wanted ? [{ alertname: wanted.name, eval_time: duration(wanted.atMinute), exp_alerts: [] }] : [];
  const test = {
    interval: '1m',
    input_series: stored(extrapolate(timelines, isRead)),
    promql_expr_test: queries,
    alert_rule_test: alerts,
  };
  const tests = { rule_files: [ALERT_RULES_FILE], evaluation_interval: '1m', tests: [test] };
  // JSON is YAML, and is written faster.
  writeFileSync(file, JSON.stringify(tests));
  const output = await failureOf(['test', 'rules', file]);
  return {
    raised: queries.map(({ expr, eval_time: at }) => raisedIn(output, expr, at)),
    texts: textsIn(output, wanted?.name ?? ''),
  };
}

/** A duration in Prometheus' notation: 90 minutes are `1h30m`. */
const duration = (minutes: number): string =>
  `${Math.floor(minutes / 60)}h${minutes % 60}m`.replace(/^0h/, '').replace(/h0m$/, 'h');

/** @returns promtool's report if the test fails, else nothing */
const failureOf = (args: readonly string[]): Promise<string> =>
  promisify(execFile)(findProgram('promtool'), args, { encoding: 'utf8' }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => {
      if (/^ *got:/m.test(stderr + stdout)) return stderr + stdout;
      throw new Error(`promtool failed: ${stderr}${stdout}`);
    },
  );

function raisedIn(output: string, expression: string, at: string): readonly string[] {
  const [, rest] = output.split(`expr: ${JSON.stringify(expression)}, time: ${at},`);
  if (rest === undefined) return []; // as expected
  const [, got = ''] = /^ *got: (.*)$/m.exec(rest) ?? [];
  const raised = Array.from(got.matchAll(/\{alertname="(\w+)", severity="(\w+)"\}/g), ([, ...names]) =>
    names.join(' '),
  );
  if (raised.length === 0) throw new Error(`This is not what promtool usually says: ${output}`);
  return raised;
}

const textsIn = (output: string, name: string): readonly RaisedAlert[] =>
  Array.from(output.matchAll(/Labels:\{(.*)\}\n *Annotations:\{(.*)\}/g), ([, labels = '', annotations = '']) => ({
    name,
    severity: labelIn('severity', labels),
    summary: labelIn('summary', annotations),
    description: labelIn('description', annotations),
  }));

const labelIn = (label: string, labels: string): string =>
  new RegExp(`\\b${label}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)?.[1] ?? '';

interface QueryResult {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [timeSeconds: number, value: string];
}

/** A Prometheus that scrapes real servers. */
export interface TestPrometheus extends AsyncDisposable {
  /** @throws Error with Prometheus' message if it refuses the query */
  query(expression: string): Promise<readonly QueryResult[]>;
  get(path: string): Promise<unknown>;
}

/** @param config as in prometheus.yml */
export async function startPrometheus(config: string): Promise<TestPrometheus> {
  const folder = createTemporaryFolder();
  const configFile = join(folder.path, 'prometheus.yml');
  writeFileSync(configFile, config);
  const args = [
    `--config.file=${configFile}`,
    `--storage.tsdb.path=${join(folder.path, 'data')}`,
    '--web.listen-address=127.0.0.1:0',
  ];
  const child = spawn(findProgram('prometheus'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const unregister = endWithTestRun(child.pid ?? 0);
  const exited = once(child, 'exit').then(unregister);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const url = await vi.waitFor(
    () => {
      const [, address] = /Listening on.*?address=(127\.0\.0\.1:\d+)/.exec(log) ?? [];
      if (address === undefined) throw new Error(`Prometheus does not listen:\n${log}`);
      return `http://${address}`;
    },
    { timeout: 30_000 },
  );
  const get = async (path: string) => {
    const response = await fetch(url + path);
    const { data, error } = (await response.json()) as { data: unknown; error?: string }; // as documented
    if (error !== undefined) throw new Error(`${error}: ${path}`);
    return data;
  };
  return {
    get,
    async query(expression) {
      const data = await get(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      return (data as { result: readonly QueryResult[] }).result; // as documented
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
      folder[Symbol.dispose]();
    },
  };
}
