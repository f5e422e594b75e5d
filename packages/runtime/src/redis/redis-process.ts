import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../process/free-port.ts';
import { type ServerProcess, type StopStep, spawnServer, stopServer } from '../process/server-process.ts';
import { findExecutable } from '../process/unprivileged-user.ts';
import { RuntimeError } from '../runtime-error.ts';

/** The Redis or Valkey server of this machine, if it has one. */
export const findRedisProgram = (): string | undefined => findExecutable('redis-server', 'valkey-server');

export interface RedisProcessOptions {
  readonly program: string;
  /** Where the server keeps its data; must exist. */
  readonly folder: string;
  /** Where the server writes its log; begun anew at each start. */
  readonly logFile: string;
  /** Directives by name, as in redis.conf. They go into a file that only we can read, because `ps` shows arguments. */
  readonly config: Readonly<Record<string, string | number>>;
  /** @default false */
  readonly sentinel?: boolean;
  /** @default a free one */
  readonly port?: number;
}

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
export async function startRedis(options: RedisProcessOptions): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort());
    const server = spawnRedis(options, port);
    if (await waitUntilListening(server, port)) return { port, process: server };
    const log = readFileSync(options.logFile, 'utf8');
    const portWasTaken = log.includes('Address already in use');
    if (options.port !== undefined || !portWasTaken || attempt === PORT_ATTEMPTS) {
      const lastWords = log
        .trim()
        .split('\n')
        .at(-1)
        ?.replace(/^\S+ \d+ \w+ \d+ [\d:.]+ . /, '');
      throw new RuntimeError(`${options.program} did not start: ${lastWords} (its log: ${options.logFile})`);
    }
  }
}

export const stopRedis = (server: ServerProcess): Promise<void> => stopServer(server, STOP_STEPS);

function spawnRedis(
  { program, folder, logFile, config, sentinel = false }: RedisProcessOptions,
  port: number,
): ServerProcess {
  const directives = { ...config, bind: '127.0.0.1', port, dir: quote(folder), daemonize: 'no', logfile: '""' };
  const configFile = join(folder, 'redis.conf');
  const lines = Object.entries(directives).map(([name, value]) => `${name} ${value}\n`);
  writeFileSync(configFile, lines.join(''), { mode: 0o600 });
  const log = openSync(logFile, 'w', 0o600);
  try {
    const args = sentinel ? [configFile, '--sentinel'] : [configFile];
    return spawnServer([program, ...args], { cwd: folder, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
}

/** redis.conf splits at blanks, and knows C's escapes inside of quotes. */
const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** Whether the server came up; false when its process ended first. */
async function waitUntilListening(server: ServerProcess, port: number): Promise<boolean> {
  for (let waitedMs = 0; server.isRunning(); waitedMs += POLL_MS) {
    if (await answersPing(port)) return true;
    if (waitedMs > START_TIMEOUT_MS) {
      await stopRedis(server);
      return false;
    }
    await sleep(POLL_MS);
  }
  return false;
}

/** Whether a server on a port of the loopback interface has loaded its data; a demand for a password is an answer. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.on('error', () => settle(false));
    socket.on('close', () => settle(false));
    socket.on('connect', () => socket.write('PING\r\n'));
    socket.on('data', (data) => settle(/^(?:\+PONG|-NOAUTH)/.test(data.toString('latin1'))));
  });
}
