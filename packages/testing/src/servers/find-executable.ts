import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first program of a name on PATH or in the usual folders, which a service's PATH often lacks. */
export function findExecutable(...names: readonly string[]): string | undefined {
  // biome-ignore lint/style/noProcessEnv: PATH is the machine's, not a setting of ours
  const { PATH = '' } = process.env;
  const folders = [
    ...PATH.split(delimiter),
    '/usr/local/bin',
    '/usr/bin',
    '/usr/sbin',
    '/usr/local/sbin',
    '/opt/homebrew/bin',
  ];
  for (const name of names) {
    for (const folder of folders) {
      const file = join(folder, name);
      if (folder !== '' && isExecutable(file)) return file;
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
