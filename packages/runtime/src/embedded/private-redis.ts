import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { adoptServer } from '../process/server-process.ts';
import { findRedisProgram, type RunningRedis, startRedis, stopRedis } from '../redis/redis-process.ts';
import type { SingleRedis } from '../settings/redis-target.ts';
import { prepareDataFolder } from './data-folder.ts';
import { type EmbeddedServer, type SharedServerAccess, type UseOptions, useSharedServer } from './shared-server.ts';

const FIND_TIMEOUT_MS = 1_000;

/** See `openPrivateRedis`. */
export async function usePrivateRedis(
  dataFolder: string,
  options: UseOptions,
): Promise<EmbeddedServer<SingleRedis> | undefined> {
  const program = findRedisProgram();
  if (program === undefined) return undefined;
  prepareDataFolder(dataFolder);
  const folder = redisFolder(dataFolder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const password = readConfig(folder)?.password ?? randomBytes(24).toString('base64url');
  const config = {
    requirepass: password,
    save: '60 1',
    // A full disk must not stop the limits.
    'stop-writes-on-bgsave-error': 'no',
  };
  const logFile = join(dataFolder, 'redis.log');
  const { port, pid, release } = await useSharedServer(
    {
      ...findPrivateRedis(dataFolder),
      start: (ownPort) =>
        startRedis({ program, folder, logFile, config, ...(ownPort !== undefined && { port: ownPort }) }),
    },
    options,
  );
  const address: SingleRedis = {
    type: 'single',
    host: '127.0.0.1',
    port,
    database: 0,
    password,
    tls: false,
  };
  return { address, pid, release };
}

/** The Redis below a data folder, as somebody else may have started it. */
export const findPrivateRedis = (dataFolder: string): SharedServerAccess => ({
  dataFolder,
  name: 'redis',
  find: () => findRunningRedis(redisFolder(dataFolder)),
  stop: stopRedis,
});

const redisFolder = (dataFolder: string): string => join(dataFolder, 'redis');

interface RedisConfig {
  readonly port: number;
  readonly password: string;
}

/** What the last start wrote; `undefined` where there was none. */
function readConfig(folder: string): RedisConfig | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, 'redis.conf'), 'utf8');
  } catch {
    return undefined;
  }
  const port = /^port (\d+)$/m.exec(text)?.[1];
  const password = /^requirepass (\S+)$/m.exec(text)?.[1];
  return port === undefined || password === undefined ? undefined : { port: Number(port), password };
}

async function findRunningRedis(folder: string): Promise<RunningRedis | undefined> {
  const config = readConfig(folder);
  const pid = config && (await askForPid(config));
  return pid === undefined ? undefined : { port: config?.port ?? 0, process: adoptServer(pid) };
}

/** Only a server that knows our password is ours, whoever listens on the port by now. */
function askForPid({ port, password }: RedisConfig): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    let answer = '';
    const settle = (pid?: number) => {
      socket.destroy();
      resolve(pid);
    };
    socket.setTimeout(FIND_TIMEOUT_MS, settle);
    socket.on('error', () => settle());
    socket.on('close', () => settle());
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nINFO server\r\n`));
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      const pid = /^process_id:(\d+)\r$/m.exec(answer)?.[1];
      if (pid !== undefined) settle(Number(pid));
      else if (/^-/m.test(answer)) settle();
    });
  });
}
