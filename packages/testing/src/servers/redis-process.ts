import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '@petstore/runtime';
import { findExecutable } from './find-executable.ts';
import { findFreePort } from './free-port.ts';
import { type ServerProcess, type StopStep, spawnServer, stopServer } from './server-process.ts';

/** The Redis or Valkey server of this machine, if it has one. */
export const findRedisProgram = (): string | undefined => findExecutable('redis-server', 'valkey-server');

export interface RedisOptions {
  readonly program: string;
  /** Where the server keeps its data; must exist. */
  readonly folder: string;
  /** Where the server writes its log; begun anew at each start. */
  readonly logFile: string;
  /** Directives by name, as in redis.conf. They go into a file that only we can read, because `ps` shows arguments. */
  readonly config: RedisDirectives;
  /** @default false */
  readonly sentinel?: boolean;
  /** @default a free one */
  readonly port?: number;
}

type RedisDirectives = Readonly<Record<string, string | number>>;

export interface RunningRedis {
  readonly port: number;
  readonly process: ServerProcess;
}

/** SIGTERM saves, if so configured, and ends. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGTERM', graceMs: 3_000 },
  { signal: 'SIGKILL', graceMs: 1_000 },
];
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 5;
const PORT_ATTEMPTS = 5;

/**
 * Starts a Redis server on a port of the loopback interface.
 *
 * @throws RuntimeError with the server's own last words when it does not start
 */
export async function startRedis(options: RedisOptions): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort());
    const server = await spawnRedis(options, { bind: '127.0.0.1', port }, options.sentinel ? ['--sentinel'] : []);
    if (await waitUntilReady(server, port)) return { port, process: server };
    const portWasTaken = readFileSync(options.logFile, 'utf8').includes('Address already in use');
    if (options.port !== undefined || !portWasTaken || attempt === PORT_ATTEMPTS) throw startError(options);
  }
}

export const stopRedis = (server: ServerProcess): Promise<void> => stopServer(server, STOP_STEPS);

function startError({ program, logFile }: RedisOptions): RuntimeError {
  const lastWords = readFileSync(logFile, 'utf8')
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^\S+ \d+ \w+ \d+ [\d:.]+ . /, '');
  return new RuntimeError(`${program} did not start: ${lastWords} (its log: ${logFile})`);
}

async function spawnRedis(
  { program, folder, logFile, config }: RedisOptions,
  listen: RedisDirectives,
  args: readonly string[] = [],
): Promise<ServerProcess> {
  const configFile = join(folder, 'redis.conf');
  writeConfig(configFile, { ...config, ...listen, dir: quote(folder), daemonize: 'no', logfile: '""' });
  const log = openSync(logFile, 'w', 0o600);
  try {
    return await spawnServer([program, configFile, ...args], { cwd: folder, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
}

/** A new file each time, so that it has this mode, whatever was there. */
function writeConfig(file: string, directives: RedisDirectives): void {
  const lines = Object.entries(directives).map(([name, value]) => `${name} ${value}\n`);
  rmSync(file, { force: true });
  writeFileSync(file, lines.join(''), { mode: 0o600, flag: 'wx' });
}

/** redis.conf splits at blanks, and knows C's escapes inside of quotes. */
const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** Whether a server came up; false when its process ended first, or was stopped because it took too long. */
async function waitUntilReady(server: ServerProcess, port: number): Promise<boolean> {
  const endMs = performance.now() + START_TIMEOUT_MS;
  while (server.isRunning()) {
    if (await isReady(port)) return true;
    if (performance.now() > endMs) {
      await stopRedis(server);
      return false;
    }
    await sleep(POLL_MS);
  }
  return false;
}

/** Whether a server has loaded its data; asking for a password counts as well. */
function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
    socket.on('connect', () => socket.write('PING\r\n'));
    socket.on('data', (data) => finish(/^(?:\+PONG|-NOAUTH)/.test(data.toString('latin1'))));
  });
}
