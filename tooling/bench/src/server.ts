import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Storage } from './storage.ts';

/** The service and the program that it is compared with. Both print the address on which they listen. */
const PROGRAMS = {
  service: '../../../apps/server/src/main.js',
  baseline: './baseline/main.ts',
} as const;
export type Contender = keyof typeof PROGRAMS;

/** A cache for both: neither compiles the same code twice. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));

export interface Server extends AsyncDisposable {
  readonly pid: number;
  /** Such as `http://127.0.0.1:3000`. */
  readonly url: string;
}

/** Starts a contender on a database, with production settings. @throws Error if it ends before it listens */
export async function startServer(contender: Contender, databaseUrl: string, storage: Storage): Promise<Server> {
  if (storage.users.disposed) throw new Error('the run is over');
  const file = fileURLToPath(new URL(PROGRAMS[contender], import.meta.url));
  const settings = { DATABASE_URL: databaseUrl, REDIS_URL: storage.redisUrl, DATA_DIR: storage.folder };
  const surroundings = { PATH: process.env['PATH'], NODE_ENV: 'production', NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, [file], {
    env: { ...surroundings, ...settings, PORT: '0', ADMIN_PORT: '0', LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // Ctrl-C reaches only this process, which ends them in order
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  storage.users.defer(stop);
  const lines = createInterface(child.stdout); // read to the end, because the pipe would fill otherwise
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const [, address] = /listening on (http:\/\/[\w.:[\]-]+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
    lines.on('close', () => reject(new Error(`the ${contender} ended before it listened`)));
  });
  return { pid: child.pid ?? 0, url, [Symbol.asyncDispose]: stop };
}

/** Whether the system reports the costs of single processes, as Linux does. */
const MEASURES_COST = existsSync('/proc/self/stat');

/** The processor time of a server and its storage so far, in milliseconds. Empty if the system does not report it. */
export const readCosts = (server: Server, storage: Storage): Readonly<Record<string, number>> =>
  MEASURES_COST
    ? {
        'CPU ms': readCpuMs(server.pid),
        'of PostgreSQL': readCpuMs(storage.postgresPid),
        'of Redis': readCpuMs(storage.redisPid),
      }
    : {};

/** The processor time of a process and its children. */
function readCpuMs(pid: number): number {
  const children = read(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? [];
  const ticks = [pid, ...children].flatMap((id) => {
    // The name may contain any character. After it, fields are counted from 3: these are 14 to 17, including ended children.
    return read(`/proc/${id}/stat`).split(') ').at(-1)?.split(' ').slice(11, 15) ?? [];
  });
  return ticks.reduce((sum, text) => sum + Number(text) * 10, 0); // hundredths of a second
}

/** The peak of a server's resident memory since its start. Empty if the system does not report it. */
export function readPeak({ pid }: Server): Readonly<Record<string, number>> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return kilobytes === undefined ? {} : { 'peak MB': Number(kilobytes) / 1024 };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // the process has just ended, or the system is not Linux
  }
}
