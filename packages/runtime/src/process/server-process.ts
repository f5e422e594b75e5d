import { type ChildProcess, execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { RuntimeError } from '../errors.ts';
import { openLog } from './no-follow.ts';
import { type Command, commandAsUser, type UnprivilegedUser } from './unprivileged-user.ts';

/** A server of another project, such as PostgreSQL or Redis. */
export interface ServerProgram {
  /** For messages. */
  readonly name: string;
  readonly command: Command;
  /** Runs to stop it in order. @default it is sent SIGTERM */
  readonly stopCommand?: Command;
  /** The user that runs it. `undefined`: the user of this process. */
  readonly user?: UnprivilegedUser | undefined;
  /** The path of its log. A start begins it again if it is larger than 1 MB. */
  readonly logFile: string;
  /** The text in its log that shows that it accepts connections. */
  readonly ready: RegExp;
  /** Its standard input. @default 'ignore' */
  readonly input?: 'ignore' | 'pipe';
  /** Variables of its environment, besides PATH, LC_ALL and TZ. */
  readonly environment?: NodeJS.ProcessEnv;
}

const LOG_BYTES_MAX = 1_000_000;
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 5;

/** A port was taken in the meantime; or another server started first, or is still ending. */
const PASSING_FAILURE = /^$|Address already in use|lock file ".*" (?:already exists|is empty)|shared memory block/;

/** Nothing is inherited: PGPORT, PGDATA or LC_ALL of the caller must not change how a server runs. */
const SURROUNDINGS = { cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };

/** Runs a server's own tool as its user. @throws Error with what it printed, if it fails */
export async function runTool(command: Command, user: UnprivilegedUser | undefined): Promise<string> {
  const [file, ...args] = commandAsUser(command, user);
  return (await promisify(execFile)(file, args, SURROUNDINGS)).stdout;
}

/**
 * Starts a server, and waits until it accepts connections. It runs in a session of its own: Ctrl-C in a terminal does not
 * reach it, and it may outlive this process.
 *
 * @returns `undefined` if it has ended for a reason that is passing: another attempt may help
 * @throws RuntimeError, of one line, if it cannot start
 * @throws AbortError; it then goes on by itself, unless its input is a pipe, which is closed
 */
export async function tryToStart(program: ServerProgram, signal?: AbortSignal): Promise<ChildProcess | undefined> {
  const { name, logFile, user, ready } = program;
  const log = openLog(logFile);
  try {
    if (user !== undefined) fs.fchownSync(log, user.uid, user.gid);
    if (fs.fstatSync(log).size > LOG_BYTES_MAX) fs.ftruncateSync(log);
    const { size: start } = fs.fstatSync(log);
    const readNews = () => {
      const news = Buffer.alloc(Math.max(fs.fstatSync(log).size - start, 0));
      fs.readSync(log, news, 0, news.length, start);
      return news.toString();
    };
    const server = spawnServer(program, log);
    const deadlineMs = performance.now() + START_TIMEOUT_MS;
    while (server.exitCode === null && server.signalCode === null) {
      const isLate = performance.now() > deadlineMs;
      if (signal?.aborted || isLate) server.stdin?.end(); // its guard ends it
      signal?.throwIfAborted();
      if (ready.test(readNews())) return server;
      if (isLate) server.kill('SIGKILL');
      await sleep(POLL_MS);
    }
    if (server.exitCode === 0 || PASSING_FAILURE.test(readNews())) return undefined;
    throw new RuntimeError(`${name} did not start: ${lastWords(readNews())} (its log: ${logFile})`);
  } finally {
    fs.closeSync(log);
  }
}

function spawnServer({ name, command, user, input = 'ignore', environment }: ServerProgram, log: number): ChildProcess {
  const [file, ...args] = commandAsUser(command, user);
  const env = { ...SURROUNDINGS.env, ...environment };
  const server = spawn(file, args, { ...SURROUNDINGS, env, stdio: [input, log, log], detached: true });
  server.on('error', () => {}); // it then has no pid; or a signal could not be sent
  server.unref();
  if (server.pid === undefined) throw new RuntimeError(`${name} did not start: ${file} cannot be run.`);
  return server;
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
