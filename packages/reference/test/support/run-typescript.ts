import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Runs a program as a caller would, in a process of its own.
 *
 * @returns what it wrote to standard output
 * @throws Error with what it wrote to standard error, when it fails
 */
export async function runTypeScript(code: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-sample-'));
  try {
    const file = join(folder, 'sample.mts');
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env: environment, timeout: 20_000 });
    return stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}
