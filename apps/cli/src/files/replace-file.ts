import { randomUUID } from 'node:crypto';
import {
  closeSync,
  createWriteStream,
  fchmodSync,
  fchownSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeFileError } from '@petstore/runtime';
import { CommandError } from '../errors.ts';

const REASONS = {
  EACCES: 'its folder is not writable',
  EBUSY: 'it is mounted by itself',
  EEXIST: 'the temporary file of an unfinished export already exists',
};

/**
 * A new file beside its target, with the target's owner and mode before anything is written to it. It takes the target's
 * place in a single step when it is complete; otherwise, also if a signal ends the process, it is removed.
 */
export class FileReplacement implements Disposable {
  readonly #path: string;
  /** `PATH.<id>.partial` */
  readonly #temporaryPath: string;
  readonly #fd: number;
  #isOpen = true;
  /** What is left if it is not written to its end. */
  readonly unfinished: string;
  readonly #remove = () => rmSync(this.#temporaryPath, { force: true });

  /**
   * @param id makes the temporary file's name unique. A file that has the name, perhaps a planted link, is not touched.
   * @throws CommandError if the target cannot be replaced
   */
  constructor(path: string, id: string = randomUUID()) {
    this.#path = path;
    this.#temporaryPath = `${path}.${id}.partial`;
    try {
      const target = lstatSync(path, { throwIfNoEntry: false });
      const obstacle = target && findObstacle(target, statSync(dirname(path)));
      if (obstacle !== undefined) throw new CommandError(`${path} cannot be written: ${obstacle}`);
      this.unfinished = `${path} was not ${target ? 'changed' : 'written'}.`;
      this.#fd = openSync(this.#temporaryPath, 'wx', target ? 0o600 : 0o666);
      process.once('exit', this.#remove);
      if (target) this.#takeRightsOf(target);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  #takeRightsOf({ uid, gid, mode }: Stats): void {
    try {
      fchownSync(this.#fd, uid, gid);
      fchmodSync(this.#fd, mode & 0o777);
    } catch (cause) {
      this[Symbol.dispose]();
      throw new CommandError(`${this.#path} cannot be written: its owner or group is another`, { cause });
    }
  }

  /**
   * Writes the whole file, and replaces the target. Can be called once.
   *
   * @throws CommandError if the file cannot be written; also any error of the texts
   */
  async write(texts: AsyncIterable<string>): Promise<void> {
    this.#isOpen = false; // the stream closes it
    try {
      // The new content must be on the disk before it replaces the file.
      await pipeline(texts, createWriteStream(this.#temporaryPath, { fd: this.#fd, flush: true }));
      renameSync(this.#temporaryPath, this.#path);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Errors of the database are already described; an error that names a system call concerns the file. */
  #explain(error: unknown): unknown {
    if (!(error instanceof Error && 'syscall' in error)) return error;
    const reason = describeFileError(error, REASONS);
    return new CommandError(`${this.#path} cannot be written: ${reason}`, { cause: error });
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
    process.off('exit', this.#remove);
    this.#remove();
  }
}

/** @returns why another file cannot take the place of the target; `undefined` if it can */
function findObstacle(target: Stats, folder: Stats): string | undefined {
  if (target.isDirectory()) return 'it is a folder';
  if (target.isSymbolicLink()) return 'it is a link; name the file to which it leads';
  if (!target.isFile()) return 'it is a device or a pipe; export to - and redirect the output';
  return target.dev === folder.dev ? undefined : REASONS.EBUSY;
}
