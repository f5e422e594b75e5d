import { closeSync, lchownSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../process/free-port.ts';
import { type ServerProcess, type StopStep, spawnServer, stopServer } from '../process/server-process.ts';
import { findExecutable } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';

/** The Redis or Valkey server of this machine, if it has one. */
export const findRedisProgram = (): string | undefined => findExecutable('redis-server', 'valkey-server');

interface RedisProcessOptions {
  readonly program: string;
  /** Where the server keeps its data; must exist. */
  readonly folder: string;
  /** Where the server writes its log; begun anew at each start. */
  readonly logFile: string;
  /** Directives by name, as in redis.conf. They go into a file that only we can read, because `ps` shows arguments. */
  readonly config: RedisDirectives;
  /** The user to run as, where this process is root. @default the user of this process */
  readonly user?: { readonly uid: number; readonly gid: number };
}

export interface RedisPortOptions extends RedisProcessOptions {
  /** @default false */
  readonly sentinel?: boolean;
  /** @default a free one */
  readonly port?: number;
}

export interface RedisSocketOptions extends RedisProcessOptions {
  /** Where it listens, and nowhere else. What exists there is replaced. */
  readonly socketPath: string;
}

type RedisDirectives = Readonly<Record<string, string | number>>;

/** As `connect` of node:net takes it. */
export type RedisEndpoint = { readonly host: string; readonly port: number } | { readonly path: string };

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
export async function startRedis(options: RedisPortOptions): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort());
    const host = '127.0.0.1';
    const server = await spawnRedis(options, { bind: host, port }, options.sentinel ? ['--sentinel'] : []);
    if (await waitUntilReady(server, { host, port })) return { port, process: server };
    const portWasTaken = readFileSync(options.logFile, 'utf8').includes('Address already in use');
    if (options.port !== undefined || !portWasTaken || attempt === PORT_ATTEMPTS) throw startError(options);
  }
}

/** Starts a Redis server on a Unix socket. @throws RuntimeError likewise */
export async function startRedisOnSocket(options: RedisSocketOptions): Promise<ServerProcess> {
  const path = options.socketPath;
  const server = await spawnRedis(options, { port: 0, unixsocket: quote(path), unixsocketperm: 700 });
  if (await waitUntilReady(server, { path })) return server;
  throw startError(options);
}

export const stopRedis = (server: ServerProcess): Promise<void> => stopServer(server, STOP_STEPS);

function startError({ program, logFile }: RedisProcessOptions): RuntimeError {
  const lastWords = readFileSync(logFile, 'utf8')
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^\S+ \d+ \w+ \d+ [\d:.]+ . /, '');
  return new RuntimeError(`${program} did not start: ${lastWords} (its log: ${logFile})`);
}

async function spawnRedis(
  { program, folder, logFile, config, user }: RedisProcessOptions,
  listen: RedisDirectives,
  args: readonly string[] = [],
): Promise<ServerProcess> {
  const configFile = join(folder, 'redis.conf');
  writeConfig(configFile, { ...config, ...listen, dir: quote(folder), daemonize: 'no', logfile: '""' }, user);
  const log = openSync(logFile, 'w', 0o600);
  const identity = process.geteuid?.() === 0 && user !== undefined ? { uid: user.uid, gid: user.gid } : {};
  try {
    return await spawnServer([program, configFile, ...args], { cwd: folder, stdio: ['ignore', log, log], ...identity });
  } finally {
    closeSync(log);
  }
}

/** A new file each time, so that it has this mode and this owner, whatever was there. */
function writeConfig(file: string, directives: RedisDirectives, user: RedisProcessOptions['user']): void {
  const lines = Object.entries(directives).map(([name, value]) => `${name} ${value}\n`);
  rmSync(file, { force: true });
  writeFileSync(file, lines.join(''), { mode: 0o600, flag: 'wx' });
  if (process.geteuid?.() === 0 && user !== undefined) lchownSync(file, user.uid, user.gid);
}

/** redis.conf splits at blanks, and knows C's escapes inside of quotes. */
export const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** Whether a server came up; false when its process ended first, or was stopped because it took too long. */
export async function waitUntilReady(server: ServerProcess, endpoint: RedisEndpoint): Promise<boolean> {
  const endMs = performance.now() + START_TIMEOUT_MS;
  while (server.isRunning()) {
    if (await isReady(endpoint)) return true;
    if (performance.now() > endMs) {
      await stopRedis(server);
      return false;
    }
    await sleep(POLL_MS);
  }
  return false;
}

/** Whether a server has loaded its data; asking for a password counts as well. */
function isReady(endpoint: RedisEndpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(endpoint);
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
