import { addAbortListener } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../errors.ts';
import { type DataFolder, prepareDataFolder } from './data-folder.ts';

/** How long a server that is stopping is waited for, in milliseconds: SHUTDOWN_TIMEOUT is 10 s by default. */
const STOPPING_PATIENCE_MS = 12_000;
/** How long any other is waited for, in milliseconds: a signal may be on its way to it. */
const PATIENCE_MS = 1_000;
const POLL_MS = 50;
/** A code of SQLite's errors: another connection has the lock. */
const SQLITE_BUSY = 5;

/**
 * Makes the data folder if there is none, and makes it this server's until it is disposed of. The lock is that of SQLite,
 * which the system releases however a process ends. A file beside it names the process, and says when it is stopping.
 *
 * @param signal aborted when this server is to stop
 * @param stoppingPatienceMs how long a server that is stopping is waited for. @default 12,000
 * @throws RuntimeError, of one line, if another server has the folder, or it cannot be used
 * @throws AbortError
 */
export async function claimDataFolder(
  path: string,
  signal: AbortSignal,
  stoppingPatienceMs = STOPPING_PATIENCE_MS,
): Promise<DataFolder & Disposable> {
  const folder = prepareDataFolder(path);
  const pidFile = join(folder.path, 'server.pid');
  const { DatabaseSync } = await import('node:sqlite'); // loaded here: commands need not load it
  using resources = new DisposableStack();
  const lock = resources.use(new DatabaseSync(join(folder.path, 'server.lock'), { timeout: 0 }));
  for (const beganAtMs = performance.now(); !tryToLock(lock); await sleep(POLL_MS, undefined, { signal })) {
    const [pid, state] = readPidFile(pidFile);
    if (performance.now() - beganAtMs < (state === 'running' ? PATIENCE_MS : stoppingPatienceMs)) continue;
    const message = `Another server already runs on the data folder ${folder.path}: process ${pid}.`;
    throw new RuntimeError(`${message} Stop it, or set DATA_DIR to another.`);
  }
  writeFileSync(pidFile, `${process.pid} running`);
  resources.defer(() => rmSync(pidFile, { force: true }));
  resources.use(addAbortListener(signal, () => writeFileSync(pidFile, `${process.pid} stopping`)));
  const claim = resources.move();
  return { ...folder, [Symbol.dispose]: () => claim.dispose() };
}

function tryToLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}

function readPidFile(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split(' ');
  } catch {
    return []; // the server has just taken the lock, or is about to release it
  }
}
