import { setTimeout as sleep } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { expect, test } from 'vitest';
import type { Persistence } from '../../src/index.ts';
import { newOrder } from '../support.ts';
import { openOverProxy } from './support/over-proxy.ts';

const find = ({ orders }: Persistence) => orders.findOrder(orderId(1n)).then(() => 'not found', String);

test('a PostgreSQL that fell silent while connections were opened is used again when it responds', async () => {
  await using network = await openOverProxy();
  await using persistence = network.open({ connections: 2 });
  await persistence.ping();
  network.proxy.silence('set_config');
  expect(await Promise.all(Array.from({ length: 4 }, () => find(persistence)))).not.toContain('not found');
  network.proxy.respond();
  await expect.poll(() => find(persistence), { timeout: 5_000, interval: 20 }).toBe('not found');
});

test('a connection that says nothing more is replaced after half a minute, and the server is not taken for hung', async () => {
  await using network = await openOverProxy();
  await using persistence = network.open({ connections: 1 });
  expect(await find(persistence)).toBe('not found');
  network.proxy.silence('find-order');
  expect(await find(persistence)).toContain('did not respond in time');
  network.proxy.respond();
  await persistence.ping();
  await expect.poll(() => find(persistence), { timeout: 50_000 }).toBe('not found');
});

test('a ping that has no response yet is not followed by another one on its connection', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => warnings.push(message);
  process.on('warning', onWarning);
  await using network = await openOverProxy();
  await using persistence = network.open();
  await persistence.ping();
  network.proxy.silence();
  network.proxy.refuse();
  for (let i = 0; i < 3; i++) {
    await expect(persistence.ping()).rejects.toThrow(/ECONNREFUSED/);
    await sleep(200);
  }
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

test('a PostgreSQL that is far away can be used, and connections are opened to it in time', async () => {
  await using network = await openOverProxy();
  await using persistence = network.open();
  network.proxy.delay(200); // as to the other side of the world
  await persistence.ping();
  network.proxy.delay(240); // more than ten times this is more than any caller waits
  expect(await find(persistence)).toBe('not found');
});

test('a PostgreSQL is used again at once after this process stood still while a connection was opened', async () => {
  await using network = await openOverProxy();
  await using persistence = network.open();
  await persistence.ping();
  network.proxy.delay(60);
  const first = find(persistence);
  await sleep(30);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
  await first; // it may have been given up
  await expect.poll(() => find(persistence), { timeout: 2_000, interval: 20 }).toBe('not found');
});

test('what was given up while a connection was opened for it is not sent any more', async () => {
  await using network = await openOverProxy();
  await using persistence = network.open();
  await persistence.ping();
  network.proxy.delay(630); // a login takes 1.9 s then, which is in time, and its session's settings as long as the caller waits
  await expect(persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).rejects.toThrow(StorageUnavailableError);
  await expect.poll(() => persistence.load().statementsInFlight.writes, { timeout: 20_000 }).toBe(0);
  expect(await network.direct.orders.countOrders()).toBe(0);
});
