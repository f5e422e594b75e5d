import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestRedis } from '@petstore/testing/server-programs';

/** A Redis of this run alone. Disposing of it ends it. */
export interface ComparedRedis extends AsyncDisposable {
  /** A logical database for each contender, because some name their keys alike. */
  urlOf(index: number): string;
  /** Kills it, and starts it again on the same port, without its data. */
  restart(): Promise<void>;
}

/** @throws Error that says what is missing on this machine */
export async function openRedis(): Promise<ComparedRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-compare-'));
  let server = await startTestRedis(folder);
  const { port } = server;
  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    server.process.signal(signal);
    await server.process.waitForExit();
  }
  return {
    urlOf: (index) => `redis://127.0.0.1:${port}/${index}`,
    async restart() {
      await end('SIGKILL');
      server = await startTestRedis(folder, { port });
    },
    async [Symbol.asyncDispose]() {
      await end('SIGTERM');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
