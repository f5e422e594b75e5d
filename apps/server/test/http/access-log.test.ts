import { PATIENTLY } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { placeOrder } from '../support/database.ts';
import { sendOne } from './support/raw-http.ts';
import { useTestApp } from './support/test-app.ts';

const app = await useTestApp({ trustedProxies: 1, orders: 300 });

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

/** The line of a request by its id. */
const lineOf = (requestId: string) =>
  vi.waitUntil(
    () => app.logLines.find((line) => line.msg === 'request completed' && line['requestId'] === requestId),
    PATIENTLY,
  );

test('a line says who asked for what, from where, as a part of which trace, and what came of it', async () => {
  const { id } = await placeOrder(app.persistence);
  await app.fetch(`/v1/store/orders/${id}?a=b`, {
    method: 'DELETE',
    headers: {
      'x-request-id': 'whole',
      'x-forwarded-for': '192.0.2.7',
      'user-agent': 'shop/1.0',
      traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`,
    },
  });
  expect(await lineOf('whole')).toMatchObject({
    level: 20,
    method: 'DELETE',
    url: `/v1/store/orders/${id}?a=b`,
    operation: 'cancelOrder',
    status: 204,
    durationMs: expect.any(Number),
    bytes: expect.any(Number),
    clientAddress: '192.0.2.7',
    userAgent: 'shop/1.0',
    keyId: expect.stringMatching(/^\w{8}$/),
    traceId: TRACE_ID,
  });
});

test('a failure is named by its code, over REST and tRPC', async () => {
  await app.fetch('/v1/store/orders/404', { method: 'DELETE', headers: { 'x-request-id': 'rest' } });
  await app.fetch('/trpc/orders.get?input={"json":{"orderId":"404"},"meta":{"values":{"orderId":["bigint"]}}}', {
    headers: { 'x-request-id': 'trpc' },
  });
  expect(await lineOf('rest')).toMatchObject({ status: 404, errorCode: 'order_not_found' });
  expect(await lineOf('trpc')).toMatchObject({ status: 404, errorCode: 'order_not_found', operation: 'orders.get' });
  expect(app.errorCodes).toEqual(['order_not_found', 'order_not_found']);
});

test('the bytes are those of the whole response, on a connection that has had others', async () => {
  for (const requestId of ['first', 'second']) {
    const response = await app.fetch('/v1/store/orders', { headers: { 'x-request-id': requestId } });
    const { length } = await response.text();
    const { bytes } = (await lineOf(requestId)) as { bytes?: number }; // its type is checked below
    expect(bytes).toBeGreaterThan(length);
    expect(bytes).toBeLessThan(length + 5_000);
  }
});

test.each([
  ['another version', `ff-${TRACE_ID}-00f067aa0ba902b7-01`],
  ['no trace', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
  ['no parent', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${TRACE_ID.toUpperCase()}-00f067aa0ba902b7-01`],
])('a traceparent that is none is not believed: %s', async (name, traceparent) => {
  const requestId = name.replace(' ', '-');
  await app.fetch('/v1/store/orders', { headers: { 'x-request-id': requestId, traceparent } });
  expect(await lineOf(requestId)).not.toHaveProperty('traceId');
});

test('nothing of a secret is left in what is cut', async () => {
  const encoded = app.key.replaceAll('_', '%5F');
  const url = '/v1/pets/1?a='.padEnd(500 - 38, 'a') + encoded;
  await app.fetch(url, { headers: { 'x-request-id': 'cut', 'user-agent': `${'a'.repeat(200 - 39)} ${encoded}` } });
  const line = await lineOf('cut');
  expect(line?.['url']).toMatch(/=a+pso_demo_\w{8}_\*{3}$/);
  expect(line?.['userAgent']).toMatch(/^a+ pso_demo_\w{8}_\*{3}$/);
});

test('what the parser refuses is a line, too', async () => {
  const { status } = await sendOne('GET / HTTP/9.9\r\n\r\n', { port: app.port });
  const line = app.logLines.find(({ errorCode }) => errorCode === 'invalid_request');
  expect(line).toMatchObject({ msg: 'request completed', status, clientAddress: '127.0.0.1' });
});
