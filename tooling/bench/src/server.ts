import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Storage } from './storage.ts';

/** What is measured, and what it is compared with. Both print the address that they listen on. */
const PROGRAMS = {
  service: '../../../apps/server/src/main.js',
  baseline: './baseline/main.ts',
} as const;
export type Contender = keyof typeof PROGRAMS;

/** For both, so that neither compiles anew what it has compiled before. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));

export interface Server extends AsyncDisposable {
  readonly pid: number;
  /** As in `http://127.0.0.1:3000`. */
  readonly url: string;
}

/** Starts a contender on a database, with the settings of production. @throws Error when it ends before it listens */
export async function startServer(contender: Contender, databaseUrl: string, storage: Storage): Promise<Server> {
  if (storage.users.disposed) throw new Error('the run is over');
  const file = fileURLToPath(new URL(PROGRAMS[contender], import.meta.url));
  const settings = { DATABASE_URL: databaseUrl, REDIS_URL: storage.redisUrl, DATA_DIR: storage.folder };
  const surroundings = { PATH: process.env['PATH'], NODE_ENV: 'production', NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, [file], {
    env: { ...surroundings, ...settings, PORT: '0', ADMIN_PORT: '0', LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // Ctrl-C reaches this process alone, which ends them in order
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  storage.users.defer(stop);
  const lines = createInterface(child.stdout); // read to the end, or the pipe would fill
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const [, address] = /listening on (http:\/\/[\w.:[\]-]+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
    lines.on('close', () => reject(new Error(`the ${contender} ended before it listened`)));
  });
  return { pid: child.pid ?? 0, url, [Symbol.asyncDispose]: stop };
}

/** Whether the system tells what single processes cost, as Linux does. */
const MEASURES_COST = existsSync('/proc/self/stat');

/** What a server and its storage have cost so far: processor time in milliseconds. Nothing where the system does not tell. */
export const readCosts = (server: Server, storage: Storage): Readonly<Record<string, number>> =>
  MEASURES_COST
    ? {
        'CPU ms': readCpuMs(server.pid),
        'of PostgreSQL': readCpuMs(storage.postgresPid),
        'of Redis': readCpuMs(storage.redisPid),
      }
    : {};

/** Of a process, with its children. */
function readCpuMs(pid: number): number {
  const children = read(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? [];
  const ticks = [pid, ...children].flatMap((id) => {
    // Behind the name, which may hold anything, fields are counted from 3: these are 14 to 17, ended children included.
    return read(`/proc/${id}/stat`).split(') ').at(-1)?.split(' ').slice(11, 15) ?? [];
  });
  return ticks.reduce((sum, text) => sum + Number(text) * 10, 0); // hundredths of a second
}

/** The most resident memory of a server since its start. Nothing where the system does not tell. */
export function readPeak({ pid }: Server): Readonly<Record<string, number>> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return kilobytes === undefined ? {} : { 'peak MB': Number(kilobytes) / 1024 };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // it has just ended, or this is no Linux
  }
}
