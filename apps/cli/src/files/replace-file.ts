import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  accessSync,
  chmodSync,
  constants,
  createWriteStream,
  lstatSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from '../errors.ts';

/** How a file is going to be written. */
export interface FilePlan {
  readonly path: string;
  /** Whether a new file replaces it in a single step, when it is complete. */
  readonly isReplaced: boolean;
  /** Why it is overwritten in place although it is a file of the disk. */
  readonly inPlaceReason?: string | undefined;
  /** What is left if it is not written to its end. */
  readonly unfinished: string;
}

/**
 * Finds out how a file can be written. A device or a pipe is written to directly; so is a file whose name cannot be given
 * to another one.
 *
 * @throws CommandError if the path is a folder
 */
export function planFile(path: string): FilePlan {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new CommandError(`${path} cannot be written: it is a folder`);
  if (stats === undefined) return { path, isReplaced: true, unfinished: `${path} was not written.` };
  const inPlaceReason = findInPlaceReason(path, stats);
  const isReplaced = stats.isFile() && inPlaceReason === undefined;
  return {
    path,
    isReplaced,
    inPlaceReason,
    unfinished: `${path} ${isReplaced ? 'was not changed' : 'is incomplete'}.`,
  };
}

function findInPlaceReason(path: string, stats: Stats): string | undefined {
  if (stats.isSymbolicLink()) return statSync(path, { throwIfNoEntry: false })?.isFile() ? 'it is a link' : undefined;
  if (!stats.isFile()) return undefined;
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    return 'its folder is not writable';
  }
  const { mode, uid } = statSync(folder);
  const user = process.geteuid?.();
  const isSticky = (mode & 0o1000) !== 0;
  if (isSticky && user !== 0 && user !== uid && user !== stats.uid) return 'it belongs to another user';
  return isMountPoint(path) ? 'it is mounted by itself' : undefined;
}

/** Whether the file is a mount of its own, as containers mount single files; only Linux has such files. */
function isMountPoint(path: string): boolean {
  const escaped = realpathSync(path).replace(/[\\ \t\n]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`);
  try {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return mounts.some((line) => line.split(' ')[4] === escaped);
  } catch {
    return false;
  }
}

const REASONS = { EEXIST: 'the temporary file of an unfinished export already exists', EACCES: 'permission denied' };
const REASONS_OF_FOLDER = { ...REASONS, EACCES: 'its folder is not writable' };

interface FileOptions {
  /**
   * Names the temporary file, `PATH.<runId>.partial`. It is unique to this export. If it already exists, perhaps as a
   * planted link, the export fails. @default a random one
   */
  readonly runId?: string;
}

/**
 * Writes a file as a stream, as planned: one that is replaced is so at the end, and an export that fails, or is ended by a
 * signal, leaves no partial file.
 *
 * @throws CommandError if the file cannot be written; also any error of the texts
 */
export async function writeFile(
  { path, isReplaced }: FilePlan,
  texts: AsyncIterable<string>,
  { runId = randomUUID() }: FileOptions = {},
): Promise<void> {
  const target = isReplaced ? `${path}.${runId}.partial` : path;
  const explain = (error: unknown) => {
    const reason = describeFileError(error, isReplaced ? REASONS_OF_FOLDER : REASONS);
    return new CommandError(`${path} cannot be written: ${reason}`, { cause: error });
  };
  // The new content must be on the disk before it replaces the file.
  const stream = createWriteStream(target, { flags: isReplaced ? 'wx' : 'w', flush: isReplaced });
  await once(stream, 'open').catch((error: unknown) => {
    throw explain(error);
  });
  const remove = () => {
    if (isReplaced) rmSync(target, { force: true });
  };
  process.once('exit', remove);
  try {
    await pipeline(texts, stream);
    if (isReplaced) replace(path, target);
  } catch (error) {
    remove();
    // Errors of the database are already described; an error that names a system call concerns the file.
    throw error instanceof Error && 'syscall' in error ? explain(error) : error;
  } finally {
    process.off('exit', remove);
  }
}

/** The new file grants no user more rights than the file that it replaces. */
function replace(path: string, target: string): void {
  const former = lstatSync(path, { throwIfNoEntry: false });
  if (former !== undefined) chmodSync(target, lstatSync(target).mode & former.mode & 0o777);
  renameSync(target, path);
}
