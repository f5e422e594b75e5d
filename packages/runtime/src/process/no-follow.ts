import * as fs from 'node:fs';
import { RuntimeError } from '../errors.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR } = fs.constants;

// Root may work in the folder of another user, who could have put a link to any file of the machine there.

/** Reads a file. @throws RuntimeError, of one line, if it is a symbolic link */
export function readNoFollow(path: string): string {
  const file = openNoFollow(path, O_RDONLY);
  try {
    return fs.readFileSync(file, 'utf8');
  } finally {
    fs.closeSync(file);
  }
}

/** Opens a log to append to and to read. @throws RuntimeError, of one line, if it is a symbolic link */
export const openLog = (path: string): number => openNoFollow(path, O_RDWR | O_APPEND | O_CREAT);

function openNoFollow(path: string, flags: number): number {
  try {
    return fs.openSync(path, flags | O_NOFOLLOW, 0o600);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ELOOP')) throw cause;
    throw new RuntimeError(`${path} is a symbolic link, which is not followed. Remove it.`, { cause });
  }
}
