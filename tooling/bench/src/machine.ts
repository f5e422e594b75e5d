import { cpus, totalmem } from 'node:os';
import { Redis } from 'ioredis';
import { runSql } from './lab/databases.ts';
import type { Storage } from './lab/storage.ts';

/** Where and on what something was measured. */
export interface Machine {
  readonly processors: string;
  readonly memory: string;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  readonly redis: string;
}

export async function describeMachine(storage: Storage): Promise<Machine> {
  const all = cpus();
  const [row] = await runSql(storage.databaseUrl('postgres'), 'show server_version');
  return {
    processors: `${all.length} x ${all[0]?.model.trim() ?? 'unknown processor'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    system: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    postgres: String(row?.['server_version']),
    redis: await redisVersion(storage.redisUrl),
  };
}

async function redisVersion(redisUrl: string): Promise<string> {
  const redis = new Redis(redisUrl);
  try {
    const info = await redis.info('server');
    const [, name = 'redis'] = /^server_name:(\w+)/m.exec(info) ?? [];
    const version = new RegExp(`^${name}_version:(\\S+)`, 'm').exec(info) ?? /^redis_version:(\S+)/m.exec(info);
    return version?.[1] ?? 'unknown';
  } finally {
    redis.disconnect();
  }
}
