import { setTimeout as sleep } from 'node:timers/promises';
import { orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import type { Persistence } from '../../src/index.ts';
import { NOW, newOrder, WAYS, type Way } from '../support.ts';
import { openOverProxy } from './support/over-proxy.ts';

const ways = Object.entries<Way>(WAYS);

const find = ({ orders }: Persistence) => orders.findOrder(orderId(1n)).then(() => 'not found', String);

/** Opens every connection, so that each of them is lost. */
const useAllConnections = ({ orders }: Persistence) =>
  Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      i % 2 === 0 ? orders.findOrder(orderId(-1n)) : orders.applyCommand(orderId(-1n), 'cancel', NOW, SERVICE_ORIGIN),
    ),
  );

describe('a PostgreSQL that accepts connections and says nothing', () => {
  test('is given up after two seconds, whatever is asked of it', async () => {
    await using network = await openOverProxy();
    network.proxy.silence();
    const calls = ways.map(async ([name, way]) => {
      await using persistence = network.open();
      const begin = performance.now();
      await expect(way(persistence), name).rejects.toThrow(StorageUnavailableError);
      expect(performance.now() - begin, name).toBeLessThan(5_500); // a statement is given up after two
    });
    await Promise.all(calls);
  });

  test('is used again when it responds, if it fell silent while connections were opened', async () => {
    await using network = await openOverProxy();
    await using persistence = network.open({ connections: 2 });
    await persistence.ping();
    network.proxy.silence('set_config');
    expect(await Promise.all(Array.from({ length: 4 }, () => find(persistence)))).not.toContain('not found');
    network.proxy.respond();
    await expect.poll(() => find(persistence), { timeout: 5_000, interval: 20 }).toBe('not found');
  });

  test('keeps no caller waiting for ever, and is used again when it responds', async () => {
    await using network = await openOverProxy();
    await using persistence = network.open();
    await useAllConnections(persistence);
    network.proxy.silence();
    const begin = performance.now();
    const calls = ways.filter(([name]) => !/import|generate|migrate$/.test(name));
    await Promise.all(
      calls.map(([name, way]) => expect(way(persistence), name).rejects.toThrow(StorageUnavailableError)),
    );
    expect(performance.now() - begin).toBeLessThan(30_000);
    network.proxy.respond();
    await expect.poll(() => persistence.ping().then(() => 'responds', String), { timeout: 20_000 }).toBe('responds');
    await useAllConnections(persistence);
  });

  test('is not waited for by a process that ends', async () => {
    await using network = await openOverProxy();
    const ending = network.open();
    await Promise.all([ending.ping(), ending.keyAdministration.listKeys()]);
    network.proxy.silence();
    const unanswered = expect(ending.ping()).rejects.toThrow(StorageUnavailableError);
    const begin = performance.now();
    await ending.close();
    expect(performance.now() - begin).toBeLessThan(4_500); // a statement is given up after two seconds
    await unanswered;
  });
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
