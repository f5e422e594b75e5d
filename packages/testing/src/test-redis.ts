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
  const database = await withClient(redisUrl, (client) => client.incr('last-test-database'));
  const url = `${redisUrl}/${database}`;
  return {
    url,
    [Symbol.asyncDispose]: () => withClient(url, async (client) => void (await client.flushdb())),
  };
}

async function withClient<Result>(url: string, work: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}
