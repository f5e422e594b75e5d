import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../runtime-error.ts';

/** A lock on a file that the operating system releases when the process dies, however it dies. */
export interface FileLock extends Disposable {
  release(): void;
}

/** `shared` locks exclude only `exclusive` ones. */
export type LockMode = 'shared' | 'exclusive';

/** Keeps databases from the garbage collector, which would close them. */
const held = new Set<DatabaseSync>();

const POLL_MS = 20;
const SQLITE_BUSY = 5;

/**
 * Takes a lock, unless another process holds one that excludes it.
 *
 * Node offers no file locks of its own, but its SQLite does: they are fcntl locks on an otherwise empty database file.
 * Unlike a file that holds a pid they cannot go stale.
 *
 * @throws RuntimeError when the file cannot be made or opened
 */
export function tryLock(file: string, mode: LockMode): FileLock | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    // A journal on the disk would need room there: on a full one nothing could be stopped any more.
    database.exec('PRAGMA journal_mode = MEMORY');
    // A reader's lock lasts as long as its transaction, and begins with the first read.
    database.exec(mode === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT 1 FROM sqlite_schema');
  } catch (cause) {
    database?.close();
    if (cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY) return undefined;
    throw new RuntimeError(`The file ${file} cannot be locked: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
  const locked = database;
  held.add(locked);
  const release = () => {
    if (held.delete(locked)) locked.close();
  };
  return { release, [Symbol.dispose]: release };
}

/** Takes a lock, and waits for it. @throws RuntimeError when that takes longer than `timeoutMs` */
export async function lock(file: string, mode: LockMode, timeoutMs: number): Promise<FileLock> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const taken = tryLock(file, mode);
    if (taken !== undefined) return taken;
    if (waitedMs >= timeoutMs) throw new RuntimeError(`Another process has held ${file} for ${timeoutMs / 1_000} s.`);
    await sleep(POLL_MS);
  }
}
