import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError } from '@petstore/runtime';
import { findRedisProgram, type RunningRedis, startRedis } from '@petstore/runtime/servers';

export interface RedisServerOptions {
  /** Directives by name, as in redis.conf. Nothing is saved to disk unless they say so. */
  readonly config?: Readonly<Record<string, string | number>>;
  /** @default a free one */
  readonly port?: number;
  /** Whether to run as a Sentinel. @default false */
  readonly sentinel?: boolean;
}

/** Starts a Redis server in a folder, which is made if it does not exist. */
export async function startTestRedis(folder: string, options: RedisServerOptions = {}): Promise<RunningRedis> {
  const program = findRedisProgram();
  if (program === undefined) {
    throw new RuntimeError(
      'The tests need a Redis server, and this machine has neither redis-server nor valkey-server. ' +
        'Install one: apt-get install redis-server (Debian, Ubuntu), brew install redis (macOS).',
    );
  }
  mkdirSync(folder, { recursive: true });
  const { config, ...rest } = options;
  const defaults = rest.sentinel ? {} : { save: '""', appendonly: 'no', databases: 4096 };
  return startRedis({
    program,
    folder,
    logFile: join(folder, 'redis.log'),
    config: { ...defaults, ...config },
    ...rest,
  });
}
