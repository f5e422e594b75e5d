import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeFileError, RuntimeError } from '../errors.ts';

/** Makes the data folder if there is none. @throws RuntimeError, of one line, if it is not writable */
export function prepareDataFolder(path: string): void {
  try {
    makeFolder(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const reasons = { EEXIST: 'a file is in its place', ENOENT: 'it cannot be created' };
    const reason = describeFileError(cause, reasons);
    const message = `The data folder ${path} cannot be written to (${reason}). Set DATA_DIR to another.`;
    throw new RuntimeError(message, { cause });
  }
}

/** Node's recursive mkdir never ends below /proc, in which folders cannot be made. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it first.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
