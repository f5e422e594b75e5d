import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '@petstore/runtime';
import { startPostgres, stopPostgres, stopRedis } from '@petstore/runtime/servers';
import { createTestCluster, TEST_POSTGRES_PARAMETERS } from './postgres-process.ts';
import { startTestRedis } from './redis-process.ts';
import type { TestServers } from './test-servers.ts';

// A process of its own, in a session of its own. It runs the servers of one test run, prints a TestServers as one line
// of JSON, and ends them when its standard input ends. That happens however the test run ends: done, failed,
// interrupted or killed.

const inputEnd = new Promise<void>((resolve) => {
  process.stdin.on('end', resolve).on('error', () => resolve());
  process.stdin.resume();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// The run may be gone already when we want to tell it something.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

const temporaryFolder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
chmodSync(temporaryFolder, 0o711); // PostgreSQL may run as another user
const processFolder = join(temporaryFolder, 'processes');
mkdirSync(processFolder);

const LEFT_OVER_GRACE_MS = 4_000;
const cleanUps: (() => Promise<void>)[] = [];

async function runPostgres(): Promise<string> {
  const { cluster, urlAt } = await createTestCluster(join(temporaryFolder, 'postgres'));
  const { port, process: server } = await startPostgres(cluster, TEST_POSTGRES_PARAMETERS);
  cleanUps.push(() => stopPostgres(server));
  return urlAt(port);
}

async function runRedis(): Promise<string> {
  const { port, process: server } = await startTestRedis(join(temporaryFolder, 'redis'));
  cleanUps.push(() => stopRedis(server));
  return `redis://127.0.0.1:${port}`;
}

/** Ends what test files started and did not live to end: in order where it can be, so that it ends what it started. */
async function endLeftOvers(): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of findLeftOvers()) sendSignal(pid, signal);
    for (let waitedMs = 0; waitedMs < LEFT_OVER_GRACE_MS && findLeftOvers().length > 0; waitedMs += 50) await sleep(50);
  }
}

/** Processes that test files have named, and whatever works in our folder. */
function findLeftOvers(): number[] {
  const named = readdirSync(processFolder).map(Number).filter(isAlive);
  return [...new Set([...named, ...findProcessesIn(temporaryFolder)])];
}

/** By the working folder, which only Linux tells of; elsewhere those that are named must do. */
function findProcessesIn(folder: string): number[] {
  if (!existsSync('/proc/self/cwd')) return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => workingFolderOf(pid).startsWith(`${folder}/`)).map(Number);
}

function workingFolderOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // it is gone, or another user's
  }
}

const isAlive = (pid: number): boolean => sendSignal(pid, 0);

function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

const results = await Promise.allSettled([runPostgres(), runRedis()]);
const [postgres, redis] = results;
if (postgres.status === 'fulfilled' && redis.status === 'fulfilled') {
  const servers: TestServers = {
    postgresUrl: postgres.value,
    redisUrl: redis.value,
    temporaryFolder,
    processFolder,
  };
  process.stdout.write(`${JSON.stringify(servers)}\n`);
  await inputEnd;
} else {
  for (const { reason } of results.filter((result) => result.status === 'rejected')) {
    console.error(reason instanceof RuntimeError ? reason.message : reason);
  }
  process.exitCode = 1;
}
await Promise.allSettled(cleanUps.map((cleanUp) => cleanUp()));
await endLeftOvers();
rmSync(temporaryFolder, { recursive: true, force: true, maxRetries: 5 });
process.exit();
