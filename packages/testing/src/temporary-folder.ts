import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type {} from './global-setup.ts'; // declares the injected values

export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

/** An empty folder that is deleted with its scope, and with the test run at the latest. Other users may pass through it. */
export function createTemporaryFolder(): TemporaryFolder {
  const path = join(inject('sharedServers').temporaryFolder, randomUUID());
  mkdirSync(path);
  chmodSync(path, 0o711);
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/**
 * Makes sure that a process does not outlive the test run, even if the test file is killed.
 *
 * @returns a function to call when the process has ended, because its pid may then be reused
 */
export function endWithTestRun(pid: number): () => void {
  const file = join(inject('sharedServers').processFolder, String(pid));
  writeFileSync(file, '');
  return () => rmSync(file, { force: true });
}
