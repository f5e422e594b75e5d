import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const { resolve } = createRequire(import.meta.url);
const COMPILER = join(dirname(resolve('typescript/package.json')), 'bin/tsc');
const TYPES = join(dirname(resolve('@types/node/package.json')), '..');
const STRICT = [
  '--ignoreConfig',
  '--noEmit',
  '--strict',
  '--target',
  'es2024',
  '--module',
  'nodenext',
  '--types',
  'node',
];

/**
 * Runs a program as a caller would, in a process of its own.
 *
 * @returns what it wrote to standard output
 * @throws Error with what it wrote to standard error, when it fails
 */
export const runTypeScript = (code: string, environment: Readonly<Record<string, string>> = {}): Promise<string> =>
  withFiles([code], (files) => runNode(files, environment));

/**
 * Checks the types of programs as a caller would, with the compiler's strict rules.
 *
 * @returns what it wrote to standard output: nothing, where there are no errors
 * @throws Error when there are errors; its `stdout` lists them
 */
export const checkTypeScript = (programs: readonly string[]): Promise<string> =>
  withFiles(programs, (files) => runNode([COMPILER, ...STRICT, '--typeRoots', TYPES, ...files]));

async function withFiles(programs: readonly string[], use: (files: string[]) => Promise<string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-sample-'));
  try {
    const files = programs.map((_, index) => join(folder, `sample-${index}.mts`));
    await Promise.all(files.map((file, index) => writeFile(file, programs[index] ?? '')));
    return await use(files);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runNode(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env, timeout: 20_000 });
  return stdout;
}
