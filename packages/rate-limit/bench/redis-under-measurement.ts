import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

const REDIS_PROGRAM = 'redis-server';

/** A private redis-server on the loopback interface that saves nothing, and ends with its user. */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), 'rate-limit-bench-'));
  const port = await findFreePort();
  const parameters = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const server = spawn(REDIS_PROGRAM, parameters, { stdio: 'ignore' });
  process.once('exit', () => server.kill('SIGKILL'));
  const redis = new Redis(port, { retryStrategy: () => 20 });
  redis.on('error', () => {}); // not up yet
  await new Promise((resolve) => redis.once('ready', resolve));
  return {
    redis,
    /** Microseconds of processor time that the server has used for commands and connections. */
    async cpuMicroseconds(): Promise<number> {
      const info = await redis.info('cpu');
      const seconds = (name: string) => Number(new RegExp(`used_cpu_${name}_main_thread:([\\d.]+)`).exec(info)?.[1]);
      return (seconds('user') + seconds('sys')) * 1e6;
    },
    /** Microseconds that the server says it spent within commands, since CONFIG RESETSTAT. */
    async commandMicroseconds(...commands: readonly string[]): Promise<number> {
      const info = await redis.info('commandstats');
      return commands.reduce(
        (sum, name) => sum + Number(new RegExp(`_${name}:calls=\\d+,usec=(\\d+)`).exec(info)?.[1] ?? 0),
        0,
      );
    },
    async memoryBytes(): Promise<number> {
      return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    },
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      server.kill('SIGKILL');
      await once(server, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

export type RedisUnderMeasurement = Awaited<ReturnType<typeof startRedis>>;

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo; // a TCP listener's address is never a path
  probe.close();
  return port;
}
