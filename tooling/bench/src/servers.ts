import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { openPersistence, type Persistence, pg } from '@petstore/persistence';
import * as programs from '@petstore/testing/server-programs';

/** What is compared. */
const CONTENDERS = { service: '../../../apps/server/src/main.js', baseline: './baseline.ts' } as const;
export type Contender = keyof typeof CONTENDERS;

/** Commits reach the disk. Checkpoints and autovacuum might run while one contender is measured and not the other. */
const POSTGRES = { shared_buffers: '256MB', max_wal_size: '4GB', checkpoint_timeout: '30min', autovacuum: 'off' };
const UNLIMITED = 1_000_000_000;

export type Servers = Awaited<ReturnType<typeof openServers>>;
export type Server = Awaited<ReturnType<Servers['startContender']>>;

/** PostgreSQL and Redis for this run only. @param stack ends all servers and deletes their data when disposed of */
export async function openServers(stack: AsyncDisposableStack) {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  async function start(program: Parameters<typeof programs.startServer>[0]) {
    if (stack.disposed) throw new Error('the run is over');
    const starting = programs.startServer(program);
    const stop = async () => programs.stopServer(await starting, program);
    stack.defer(stop);
    return { pid: (await starting).pid ?? 0, [Symbol.asyncDispose]: stop };
  }
  const redisPort = await programs.findFreePort();
  const redis = await start(programs.redisProgram(folder, redisPort));
  const cluster = await programs.createCluster(join(folder, 'postgres'));
  const postgresPort = await programs.findFreePort();
  const postgres = await start(programs.postgresProgram(cluster, postgresPort, POSTGRES));
  const databaseUrl = programs.urlOf(cluster, postgresPort);
  const client = new pg.Client(databaseUrl);
  await client.connect();
  stack.defer(() => client.end());
  await using persistence = openPersistence({ databaseUrl });
  await persistence.migrations.migrate();
  return {
    client,
    redis,
    postgres,
    /** API keys: one that is never refused, and one whose day allows a single request, but whose minute any number. */
    keys: { unlimited: await createKey(persistence, UNLIMITED), exhausted: await createKey(persistence, 1) },
    /** Replaces all orders by pending ones, with ids from 1 without gaps, ready to be read. */
    async fill(count: number): Promise<void> {
      await client.query('truncate orders, order_events restart identity');
      await using filled = openPersistence({ databaseUrl });
      await filled.orders.generateOrders({ count, seed: 42, now: new Date() });
      // Nothing is then left to write during the measurements.
      for (const sql of ['vacuum (freeze, analyze)', 'checkpoint']) await client.query(sql);
    },
    /** Starts a contender with production settings. */
    async startContender(name: Contender) {
      const port = await programs.findFreePort();
      const settings = { DATABASE_URL: databaseUrl, REDIS_URL: `redis://127.0.0.1:${redisPort}`, ADMIN_PORT: '0' };
      const server = await start({
        name,
        command: [process.execPath, fileURLToPath(new URL(CONTENDERS[name], import.meta.url))],
        environment: { ...settings, NODE_ENV: 'production', NODE_COMPILE_CACHE: folder, PORT: String(port) },
        logFile: join(folder, `${name}.log`),
        ready: /listening on http:/,
      });
      return { ...server, url: `http://127.0.0.1:${port}` };
    },
  };
}

async function createKey({ keyAdministration }: Persistence, perDay: number): Promise<string> {
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('demo', id, randomBytes);
  const plan = { name: 'enterprise', limits: { perMinute: UNLIMITED, perDay } } as const;
  const key = { id, name: 'benchmark', kind: 'external', readOnly: false, plan, createdAt: new Date() } as const;
  await keyAdministration.createKey(key, hashApiKeyText(text));
  return text;
}

/** The processor time of a process and its children so far, in milliseconds; 0 unless the system is Linux. */
export function readCpuMs(pid: number): number {
  const children = read(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? [];
  const ticks = [pid, ...children].flatMap((id) => {
    // The name may contain any character. After it, fields count from 3: these are 14 to 17, with ended children.
    return read(`/proc/${id}/stat`).split(') ').at(-1)?.split(' ').slice(11, 15) ?? [];
  });
  return ticks.reduce((sum, text) => sum + Number(text) * 10, 0); // hundredths of a second
}

/** The peak of a process's resident memory since its start; 0 unless the system is Linux. */
export function readPeakMb(pid: number): number {
  const [, kilobytes = 0] = /^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kilobytes) / 1024;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // the process has just ended, or the system is not Linux
  }
}
