import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A data folder in which the database has been made, which takes a while. Its server does not run. */
    readonly seed: string;
  }
}

const PROGRAM = join(import.meta.dirname, 'use-data-folder.ts');

/** Makes it once for all test files, in a process of its own, as vite does not run the sources of this package. */
export default function makeSeed({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-runtime-'));
  const seed = join(folder, 'seed');
  execFileSync(process.execPath, [PROGRAM, seed], { cwd: '/', input: '' });
  provide('seed', seed);
  return () => rmSync(folder, { recursive: true, force: true });
}
