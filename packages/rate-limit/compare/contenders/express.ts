import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { type RedisReply, RedisStore } from 'rate-limit-redis';
import {
  ADMITTED,
  type Contender,
  LIMIT,
  type OpenContender,
  refusedFor,
  type Verdict,
  WINDOW_MS,
} from '../contender.ts';

async function open(redisUrl: string): Promise<OpenContender> {
  const redis = new Redis(redisUrl);
  redis.on('error', () => {}); // the requests that fail for it say so
  const store = new RedisStore({
    // As its documentation shows it; the types of ioredis are wider than what comes.
    sendCommand: (command: string, ...parameters: string[]) =>
      redis.call(command, ...parameters) as Promise<RedisReply>,
  });
  const middleware = rateLimit({
    windowMs: WINDOW_MS,
    limit: LIMIT,
    store,
    keyGenerator: (request) => String(request.headers['x-caller']),
    handler: (_request, response) => void response.emit('refused'),
  });
  const socket = new Socket();
  const request = (caller: string) =>
    new Promise<Verdict>((resolve, reject) => {
      // Node's own request and response, which is all that the middleware uses of Express' ones.
      const incoming = new IncomingMessage(socket);
      incoming.headers['x-caller'] = caller;
      const response = new ServerResponse(incoming);
      response.once('refused', () => resolve(refusedFor(response.getHeader('retry-after')?.toString())));
      const next = (error?: unknown) => (error === undefined ? resolve(ADMITTED) : reject(error));
      // The types ask for what the middleware does not use.
      Promise.resolve(middleware(incoming as never, response as never, next)).catch(reject);
    });
  return { request, [Symbol.asyncDispose]: async () => redis.disconnect() };
}

export const express: Contender = { name: 'express-rate-limit', algorithm: 'fixed window (rate-limit-redis)', open };
