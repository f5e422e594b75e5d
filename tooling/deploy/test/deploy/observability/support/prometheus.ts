import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder, endWithTestRun } from '@petstore/testing';
import { vi } from 'vitest';

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
