import rateLimit from '@fastify/rate-limit';
import createFastify from 'fastify';
import { Redis } from 'ioredis';
import { ADMITTED, type Contender, LIMIT, type OpenContender, refusedFor, WINDOW_MS } from '../contender.ts';

async function open(redisUrl: string): Promise<OpenContender> {
  // As the plugin's example sets it up.
  const redis = new Redis(redisUrl, { connectTimeout: 500, maxRetriesPerRequest: 1 });
  redis.on('error', () => {}); // the requests that fail for it say so
  const server = createFastify();
  await server.register(rateLimit, {
    max: LIMIT,
    timeWindow: WINDOW_MS,
    redis,
    keyGenerator: (request) => String(request.headers['x-caller']),
  });
  server.get('/', async () => '');
  await server.ready();
  return {
    request: async (caller) => {
      const response = await server.inject({ method: 'GET', url: '/', headers: { 'x-caller': caller } });
      if (response.statusCode === 200) return ADMITTED;
      if (response.statusCode === 429) return refusedFor(response.headers['retry-after']);
      throw new Error(`the server responded with ${response.statusCode}`);
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      redis.disconnect();
    },
  };
}

export const fastify: Contender = { name: '@fastify/rate-limit', algorithm: 'fixed window', open };
