import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeError, startPostgres, stopPostgres, stopRedis } from '@petstore/runtime';
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

const cleanUps: (() => Promise<void>)[] = [];

async function runPostgres(): Promise<string> {
  const { cluster, urlAt } = await createTestCluster(join(temporaryFolder, 'postgres'));
  const { port, process: server } = await startPostgres(cluster, TEST_POSTGRES_PARAMETERS);
  // Whoever is still connected has been told by the leak check of his database. An immediate stop waits for nobody.
  cleanUps.push(() => stopPostgres(server));
  return urlAt(port);
}

async function runRedis(): Promise<string> {
  const { port, process: server } = await startTestRedis(join(temporaryFolder, 'redis'));
  cleanUps.push(() => stopRedis(server));
  return `redis://127.0.0.1:${port}`;
}

/** Test files name here what they start; what they ended themselves is no longer named. */
function killLeftOvers(): void {
  for (const pid of readdirSync(processFolder)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It is gone.
    }
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
killLeftOvers();
await Promise.allSettled(cleanUps.map((cleanUp) => cleanUp()));
rmSync(temporaryFolder, { recursive: true, force: true, maxRetries: 5 });
process.exit();
