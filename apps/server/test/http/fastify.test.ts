import fastify, { type FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { whenClosed } from '../../src/http/observe.ts';
import { documents } from '../../src/http/routes/documents.ts';
import { Metrics } from '../../src/operations/metrics.ts';
import { startTestApp } from './support/test-app.ts';

// What somebody who knows Fastify tries first, on the app as it is.

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('inject sends a request without a network', async () => {
  await using app = await startTestApp();
  const response = await app.app.inject({ url: '/v1/store/orders', headers: bearer(app.key) });
  expect([response.statusCode, response.json(), response.headers['x-ratelimit-limit']]).toEqual([
    200,
    [],
    '1000000000',
  ]);
  const refused = await app.app.inject({ method: 'DELETE', url: '/v1/store/orders/1' });
  expect([refused.statusCode, refused.json()]).toMatchObject([401, { code: 'missing_api_key' }]);
});

test('a plugin that is registered before one that it uses fails at the start, by name', async () => {
  const metrics = new Metrics({ commit: undefined, petsSunsetAt: new Date(0) });
  const renderDocument = () => {
    throw new Error('It is not reached.');
  };
  const options = {
    renderDocument,
    reference: { respond: renderDocument },
    renderSecurityText: () => undefined,
    metrics,
  };
  await expect(fastify().register(documents, options)).rejects.toThrow(
    "The dependency 'admission' of plugin 'documents' is not registered",
  );
});

test('a hook runs for each request, whatever layer responds, and a header that it sets is sent', async () => {
  const seen: string[] = [];
  await using app = await startTestApp({
    extend(fastify) {
      fastify.addHook('onRequest', async (request) => void seen.push(`${request.method} ${request.url}`));
      fastify.addHook('onSend', async (_request, reply) => void reply.header('x-request-id', 'set-by-a-hook'));
    },
  });
  const paths = ['/v1/store/orders', '/v1/nothing', '/trpc/pets.get', '/docs', '/'];
  for (const path of paths) {
    expect.soft((await app.fetch(path)).headers.get('x-request-id'), path).toBe('set-by-a-hook');
  }
  expect(seen).toEqual(paths.map((path) => `GET ${path}`));
});

test('a plugin adds routes, whose objects become JSON, and whose errors have the documented form', async () => {
  const plugin = async (fastify: FastifyInstance) => {
    fastify.get('/ok', async (request) => ({ id: request.id }));
    fastify.get('/fails', async () => {
      throw new Error('a secret');
    });
  };
  await using app = await startTestApp({ extend: (fastify) => void fastify.register(plugin, { prefix: '/extra' }) });
  const ok = await app.fetch('/extra/ok', { headers: { 'x-request-id': 'mine' } });
  expect([ok.status, await ok.json(), ok.headers.get('x-request-id')]).toEqual([200, { id: 'mine' }, 'mine']);
  const failed = await app.fetch('/extra/fails');
  expect([failed.status, await failed.json()]).toMatchObject([500, { code: 'internal_error' }]);
  expect(app.logLines.filter(({ level }) => level === 50)).toMatchObject([{ err: { message: 'a secret' } }]);
});

test('what a request logs holds its id and its trace', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  await using app = await startTestApp({
    extend: (fastify) =>
      void fastify.get('/logs', async (request) => {
        request.log.info('from a route');
        return {};
      }),
  });
  await app.app.inject({ url: '/logs', headers: { 'x-request-id': 'mine', traceparent } });
  const line = app.logLines.find(({ msg }) => msg === 'from a route');
  expect(line).toMatchObject({ requestId: 'mine', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' });
});

test('what is called back at the end of a response may fail: the rest is called, and the failure is logged', async () => {
  let calls = 0;
  await using app = await startTestApp({
    extend: (fastify) =>
      fastify.addHook('preHandler', (_request, reply, done) => {
        whenClosed(reply, () => {
          throw new Error('a callback fails');
        });
        whenClosed(reply, () => calls++);
        done();
      }),
  });
  expect((await app.fetch('/v1/pets/1')).status).toBe(404);
  await expect.poll(() => calls, { timeout: 20_000 }).toBe(1);
  expect(app.logLines).toContainEqual(
    expect.objectContaining({ level: 50, err: expect.objectContaining({ message: 'a callback fails' }) }),
  );
});
