import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connectionsOf, forgedKey, request, startCountingApp } from './support/counting-app.ts';
import { expectError } from './support/expect-error.ts';
import { openRaw, sendRaw } from './support/raw-http.ts';
import { createKey, startTestApp, type TestApp } from './support/test-app.ts';

const SOON = { timeout: 20_000 };

/** Sends requests one after the other on one connection, from an address of its own, and gives their statuses. */
async function askFrom(localAddress: string, { port }: TestApp, keys: readonly (string | undefined)[]) {
  using connection = await openRaw({ port, localAddress });
  const answers = [];
  for (const key of keys) {
    connection.write(request('/v1/pets/1', key));
    answers.push(await connection.read());
  }
  return answers;
}

describe('an address over its limit', () => {
  test('causes five look-ups a second and no more, whatever keys it makes up', async () => {
    const { app: counting, lookUps } = await startCountingApp();
    await using app = counting;
    const address = '127.0.0.11';
    const begin = performance.now();
    const answers = await askFrom(address, app, Array.from({ length: 500 }, forgedKey));
    const seconds = (performance.now() - begin) / 1_000;
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(440);
    expect(lookUps()).toBeLessThanOrEqual(60 + 5 * Math.ceil(seconds + 1));
    for (const answer of answers.slice(-5)) {
      expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
  });

  test('lets in a key that the process knows, and within a moment one that it does not', async () => {
    const { app: counting } = await startCountingApp();
    await using app = counting;
    const address = '127.0.0.12';
    const { text: unknown } = await createKey(app.persistence);
    expect((await app.fetch('/v1/pets/1')).status).toBe(404);
    const refused = await askFrom(
      address,
      app,
      Array.from({ length: 70 }, () => undefined),
    );
    expect(refused.at(-1)?.status).toBe(429);
    const [known, other] = await askFrom(address, app, [app.key, unknown]);
    expect(known?.status).toBe(404);
    expect(other?.status).toBe(404);
  });

  test('is told the same by a malformed URL, which costs no look-up either', async () => {
    const { app: counting, lookUps } = await startCountingApp();
    await using app = counting;
    const localAddress = '127.0.0.13';
    await askFrom(
      localAddress,
      app,
      Array.from({ length: 61 }, () => undefined),
    );
    const text = Array.from({ length: 50 }, () => request('/v1/pets/%zz', forgedKey())).join('');
    const answers = await sendRaw(text, { port: app.port, localAddress, count: 50 });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
    expect(lookUps()).toBeLessThanOrEqual(25);
  });
});

test('while PostgreSQL is known to be away nobody unknown is looked up', async () => {
  const { app: counting, lookUps } = await startCountingApp({ isStorageAvailable: () => false });
  await using app = counting;
  for (let i = 0; i < 5; i++) {
    const answer = await expectError(await app.fetch('/v1/pets/1', { key: forgedKey() }), 'service_unavailable');
    expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '60' });
  }
  expect(lookUps()).toBe(0);
});

test('64 requests of an address may wait for a look-up, and further ones are refused', async () => {
  const { app: counting, lookUps, hold } = await startCountingApp();
  await using app = counting;
  expect((await app.fetch('/v1/pets/1')).status).toBe(404);
  const letGo = hold();
  const from = async (localAddress: string, key: string) => {
    using connection = await openRaw({ port: app.port, localAddress });
    connection.write(request('/v1/pets/1', key));
    return await connection.read();
  };
  const waiting = Array.from({ length: 64 }, () => from('127.0.0.14', forgedKey()));
  await expect.poll(lookUps, SOON).toBe(65);
  for (let i = 0; i < 3; i++) {
    const refused = await from('127.0.0.14', forgedKey());
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1', 'x-ratelimit-limit': '60' } });
  }
  // A key that is known, and another address, are let in.
  expect((await from('127.0.0.14', app.key)).status).toBe(404);
  const other = from('127.0.0.15', forgedKey());
  await expect.poll(lookUps, SOON).toBe(66);
  letGo();
  expect((await Promise.all([...waiting, other])).filter(({ status }) => status === 401).length).toBeGreaterThan(60);
});

describe('connections', () => {
  const open = async (port: number, localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };

  test('of one address are bounded, and another one still connects', async () => {
    await using app = await startTestApp({ bounds: { maxConnectionsPerAddress: 3 } });
    const three = await Promise.all([1, 2, 3].map(() => open(app.port, '127.0.0.21')));
    await expect.poll(() => connectionsOf(app), SOON).toBe(3);
    const refused = await open(app.port, '127.0.0.21');
    await once(refused, 'close');
    const [answer] = await askFrom('127.0.0.22', app, [app.key]);
    expect(answer?.status).toBe(404);
    three[0]?.destroy();
    await expect.poll(() => connectionsOf(app), SOON).toBe(2);
    const [again] = await askFrom('127.0.0.21', app, [app.key]);
    expect(again?.status).toBe(404);
    for (const socket of three) socket.destroy();
  });

  test('of a proxy that is trusted are bounded with all others only', async () => {
    await using app = await startTestApp({
      bounds: { maxConnectionsPerAddress: 1, maxConnections: 4 },
      trustedProxies: ['127.0.0.23'],
    });
    const four = await Promise.all([1, 2, 3, 4].map(() => open(app.port, '127.0.0.23')));
    await expect.poll(() => connectionsOf(app), SOON).toBe(4);
    const refused = await open(app.port, '127.0.0.23');
    await once(refused, 'close');
    for (const socket of four) socket.destroy();
  });
});
