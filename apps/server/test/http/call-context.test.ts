import type { Services } from '@petstore/api';
import fastify, { type FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { CallContext } from '../../src/http/call-context.ts';

test('the signal of a call is aborted when its response has ended, and not before', async () => {
  const app = fastify();
  const options = { services: {} as Services, delivery: { type: 'in-process' }, wait: undefined } as const; // nothing of them is read
  let context: CallContext | undefined;
  let abortedAtFirst: boolean | undefined;
  app.get('/', async (request, reply) => {
    request.admission = { principal: {} } as FastifyRequest['admission']; // as above
    context = new CallContext(options, request, reply);
    abortedAtFirst = context.signal.aborted;
    return 'ok';
  });
  await using _closed = { [Symbol.asyncDispose]: async () => void (await app.close()) };
  const response = await fetch(await app.listen({ port: 0, host: '127.0.0.1' }));
  expect(await response.text()).toBe('ok');
  expect(abortedAtFirst).toBe(false);
  await expect.poll(() => context?.signal.aborted).toBe(true);
});
