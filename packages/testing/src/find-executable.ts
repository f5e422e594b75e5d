import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Which a service's PATH often lacks. */
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];

/** The first program of a name on PATH or in the usual folders. */
export function findExecutable(...names: readonly string[]): string | undefined {
  // biome-ignore lint/style/noProcessEnv: PATH is the machine's, not a setting of ours
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
