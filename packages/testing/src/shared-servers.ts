import { once } from 'node:events';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '@petstore/runtime';
import type { ServerProgram } from '@petstore/runtime/servers';
import { findFreePort } from './free-port.ts';
import type { SharedServers } from './global-setup.ts';
import { startServer, stopServer } from './server-process.ts';
import { createCluster, postgresProgram, redisProgram, TEST_POSTGRES_PARAMETERS, urlOf } from './server-programs.ts';

// A process in a session of its own. It runs the servers that the test files of one run share, and sends SharedServers to
// the run. It ends the servers when it is disconnected, which happens however the run ends: done, failed, interrupted or
// killed.

const runEnd = once(process, 'disconnect');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// The run may have ended before a message is written.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});

const temporaryFolder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
chmodSync(temporaryFolder, 0o711); // PostgreSQL may run as another user
const processFolder = join(temporaryFolder, 'processes');
mkdirSync(processFolder);

const LEFT_OVER_GRACE_MS = 4_000;
const servers = new AsyncDisposableStack();

async function run(program: ServerProgram): Promise<void> {
  const server = await startServer(program);
  servers.defer(() => stopServer(server, program));
}

async function runPostgres(): Promise<Pick<SharedServers, 'postgresUrl' | 'seed'>> {
  const seed = await createCluster(join(temporaryFolder, 'seed'));
  const cluster = await createCluster(join(temporaryFolder, 'postgres'), seed);
  const port = await findFreePort();
  await run(postgresProgram(cluster, port, TEST_POSTGRES_PARAMETERS));
  return { postgresUrl: urlOf(cluster, port), seed };
}

async function runRedis(): Promise<string> {
  const folder = join(temporaryFolder, 'redis');
  mkdirSync(folder);
  const port = await findFreePort();
  await run(redisProgram(folder, port));
  return `redis://127.0.0.1:${port}`;
}

/** Ends processes that test files started and did not end: first by SIGTERM, to let them end their own processes. */
async function endLeftOvers(): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of findLeftOvers()) send(pid, signal);
    for (let waitedMs = 0; waitedMs < LEFT_OVER_GRACE_MS && findLeftOvers().length > 0; waitedMs += 50) await sleep(50);
  }
}

/** Processes that test files have named and, on Linux, processes that work in the temporary folder. */
function findLeftOvers(): readonly number[] {
  const named = readdirSync(processFolder).filter((pid) => send(Number(pid), 0));
  const working = globSync('/proc/[0-9]*/cwd').filter((link) => read(link).startsWith(`${temporaryFolder}/`));
  return [...named, ...working.map((link) => basename(dirname(link)))].map(Number);
}

function read(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // the process has ended, or belongs to another user
  }
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

const results = await Promise.allSettled([runPostgres(), runRedis()]);
const [postgres, redis] = results;
if (postgres.status === 'fulfilled' && redis.status === 'fulfilled') {
  const shared: SharedServers = { ...postgres.value, redisUrl: redis.value, temporaryFolder, processFolder };
  process.send?.(shared, () => {}); // the run may have ended
  await runEnd;
} else {
  for (const { reason } of results.filter((result) => result.status === 'rejected')) {
    console.error(reason instanceof RuntimeError ? reason.message : reason);
  }
  process.exitCode = 1;
}
await servers.disposeAsync();
await endLeftOvers();
rmSync(temporaryFolder, { recursive: true, force: true, maxRetries: 5 });
process.exit();
