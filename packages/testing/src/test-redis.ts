import { Redis } from 'ioredis';
import { inject } from 'vitest';
import type {} from './global-setup.ts'; // declares what is injected

export interface TestRedis extends AsyncDisposable {
  /** A logical database that nothing else uses, and that was empty. Channels are shared by all of them. */
  readonly url: string;
}

/** A logical database of its own on the test run's Redis. Disposing of it empties it. */
export async function createTestRedis(): Promise<TestRedis> {
  const { redisUrl } = inject('sharedServers');
  administrator ??= new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  const client = administrator;
  const database = await client.incr('last-test-database');
  return {
    url: `${redisUrl}/${database}`,
    [Symbol.asyncDispose]: async () => void (await client.multi().select(database).flushdb().select(0).exec()),
  };
}

/** One connection for all tests of this process. */
let administrator: Redis | undefined;
