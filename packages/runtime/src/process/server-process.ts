import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { RuntimeError } from '../errors.ts';
import { type Command, commandAsUser, type UnprivilegedUser } from './unprivileged-user.ts';

/** A server of another project, such as PostgreSQL or Redis. */
export interface ServerProgram {
  /** For messages. */
  readonly name: string;
  readonly command: Command;
  /** The user that runs it. `undefined`: the user of this process. */
  readonly user?: UnprivilegedUser | undefined;
  /** The path of its log. A start begins it again if it is larger than 1 MB. */
  readonly logFile: string;
  /** The text in its log that shows that it accepts connections. */
  readonly ready: RegExp;
  /** Tells it to write its data, and to end without waiting for its clients. @default 'SIGTERM' */
  readonly stopSignal?: NodeJS.Signals;
  /** Variables of its environment, besides PATH, LC_ALL and TZ. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** How long the end of a server that was told to stop is waited for, in milliseconds. */
export const STOP_TIMEOUT_MS = 5_000;
const LOG_BYTES_MAX = 1_000_000;
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 5;

/** Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs. */
const SURROUNDINGS = { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** Runs a server's own tool as its user. @param input for its standard input @throws Error with what it printed, if it fails */
export async function runTool(command: Command, user: UnprivilegedUser | undefined, input = ''): Promise<string> {
  const [file, ...args] = commandAsUser(command, user);
  const running = promisify(execFile)(file, args, SURROUNDINGS);
  running.child.stdin?.on('error', () => {}).end(input); // a tool that fails does not read to the end
  return (await running).stdout;
}

/**
 * Starts a server, and waits until it accepts connections. It runs in a session of its own: Ctrl-C in a terminal does not
 * reach it. It is told to end when this process exits, and outlives it only if this process is killed.
 *
 * @throws RuntimeError, of one line, if it does not start
 * @throws AbortError, once it has ended
 */
export async function startServer(program: ServerProgram, signal?: AbortSignal): Promise<ChildProcess> {
  const { name, logFile, ready, stopSignal } = program;
  const log = fs.openSync(logFile, 'a+', 0o600);
  try {
    if (fs.fstatSync(log).size > LOG_BYTES_MAX) fs.ftruncateSync(log);
    const { size: start } = fs.fstatSync(log);
    const readNews = () => {
      const news = Buffer.alloc(Math.max(fs.fstatSync(log).size - start, 0));
      fs.readSync(log, news, 0, news.length, start);
      return news.toString();
    };
    const server = spawnServer(program, log);
    const deadlineMs = performance.now() + START_TIMEOUT_MS;
    for (; isRunning(server); await sleep(POLL_MS)) {
      if (performance.now() > deadlineMs) server.kill('SIGKILL');
      else if (signal?.aborted) server.kill(stopSignal);
      else if (ready.test(readNews())) return server;
    }
    signal?.throwIfAborted();
    throw new RuntimeError(`${name} did not start: ${lastWords(readNews())} (its log: ${logFile})`);
  } finally {
    fs.closeSync(log);
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

function spawnServer({ name, command, user, stopSignal, environment }: ServerProgram, log: number): ChildProcess {
  const [file, ...args] = commandAsUser(command, user);
  const env = { ...SURROUNDINGS.env, ...environment };
  const server = spawn(file, args, { ...SURROUNDINGS, env, stdio: ['ignore', log, log], detached: true });
  server.on('error', () => {}); // it then has no pid; or a signal could not be sent
  server.unref();
  if (server.pid === undefined) throw new RuntimeError(`${name} did not start: ${file} cannot be run.`);
  const end = () => server.kill(stopSignal);
  process.once('exit', end);
  server.once('exit', () => process.off('exit', end));
  return server;
}

/** Waits for the end of a server that was told to stop, for 5 s at most. */
export async function awaitExit(server: ChildProcess | undefined): Promise<void> {
  if (server === undefined || !isRunning(server)) return;
  server.ref(); // otherwise this process could end first
  await once(server, 'exit', { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) }).catch(() => server.unref());
}

/** The last error that a program has logged, except for errors that follow from a full disk. */
export function lastWords(log: string): string {
  const lines = log.trim().split('\n');
  const errors = lines.filter((line) => /\b(?:FATAL|PANIC|ERROR|error):/.test(line));
  const error = errors.find((line) => line.includes('No space left')) ?? errors.at(-1) ?? lines.at(-1) ?? '';
  const next = lines[lines.indexOf(error) + 1];
  const detail = next?.includes(' DETAIL: ') ? `. ${textOf(next)}` : '';
  return textOf(error) + detail;
}

/** A log line without its time and process. */
const textOf = (line: string): string => line.replace(/^.*?\b(?:[A-Z]+|error):\s+/, '');
