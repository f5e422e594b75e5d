import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

export interface MemorySocket {
  /** What a server is started with, so that it reports its memory. */
  readonly environment: Record<string, string>;
  /**
   * How many bytes the server still refers to, once its garbage is collected. How much garbage the engine leaves lying
   * before that depends on the state of the engine, not on what the server keeps.
   */
  readonly readMemory: () => Promise<number>;
}

/** A Unix socket on which a spawned server reports its memory. */
export function createMemorySocket(folder: string): MemorySocket {
  const socketPath = join(folder, 'memory');
  return {
    environment: {
      NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'report-memory.ts'))}`,
      MEMORY_SOCKET: socketPath,
    },
    readMemory: async () => {
      const [response] = await once(request({ socketPath }).end(), 'response');
      return Number(await text(response));
    },
  };
}
