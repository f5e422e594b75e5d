import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTemporaryFolder, PATIENTLY } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { composeServer } from '../support/composed-server.ts';
import { KEYS } from '../support/database.ts';
import { beginUnfinished, listingModulesTo, startServer } from '../support/spawned-server.ts';

interface Seen {
  readonly atMs: number;
  readonly status: number | undefined;
  readonly connection: string | undefined;
}

/** A request on a connection of its own. @returns `undefined` where it was not responded to */
function look(url: string): Promise<Seen | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false, headers: { connection: 'keep-alive' } }, (response) => {
      response.resume();
      const { statusCode: status, headers } = response;
      response.once('end', () => resolve({ atMs: performance.now(), status, connection: headers.connection }));
    }).once('error', () => resolve(undefined));
  });
}

test('for SHUTDOWN_DELAY it serves on, not ready, and nobody waits; then no request is lost', async () => {
  await using started = await composeServer({ SHUTDOWN_DELAY: '1s' });
  const { server } = started;
  const page = `${await server.url()}/v1/openapi.json`;
  expect(await look(page)).toMatchObject({ status: 200, connection: 'keep-alive' });
  const waitForEvents = async () => {
    const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
    const response = await fetch(`${await server.url()}/v2/store/order-events?wait=50`, { headers });
    const { events } = await response.json();
    return { events, connection: response.headers.get('connection'), atMs: performance.now() };
  };
  const waiting = waitForEvents();
  await vi.waitUntil(async () => (await server.metrics()).get('petstore_http_waiting') === 1, PATIENTLY);
  const signalledAtMs = performance.now();
  const stopped = server.stop();
  await server.said(/"msg":"stopping"/);
  const { status, report } = await server.readiness();
  expect([status, report['problems']]).toEqual([503, ['the server is stopping']]);
  // Who waits is answered, and who comes is answered at once.
  for (const { atMs, ...response } of [await waiting, await waitForEvents()]) {
    expect(response).toEqual({ events: [], connection: 'close' });
    expect(atMs - signalledAtMs).toBeLessThan(900);
  }
  const seen: Seen[] = [];
  for (let response = await look(page); response !== undefined; response = await look(page)) {
    seen.push(response);
    await sleep(10);
  }
  expect(new Set(seen.map((each) => each.status))).toEqual(new Set([200]));
  expect(new Set(seen.map((each) => each.connection))).toEqual(new Set(['close']));
  expect((seen.at(-1)?.atMs ?? 0) - signalledAtMs).toBeGreaterThan(900);
  await stopped;
});

test('at SHUTDOWN_TIMEOUT what is left is cut, and a server that was just started loads no MikroORM meanwhile', async () => {
  using folder = createTemporaryFolder();
  const modules = join(folder.path, 'modules');
  await using started = await startServer({ SHUTDOWN_TIMEOUT: '4s', ...listingModulesTo(modules) });
  const { server } = started;
  const cut = once(await beginUnfinished(await server.url(), KEYS.free.text), 'error');
  const { code, afterMs } = await server.stop('SIGTERM');
  expect(code, server.stderr).toBe(0);
  expect(afterMs).toBeGreaterThan(1_500); // MikroORM would be loaded after 1 s
  expect(afterMs).toBeLessThan(4_000);
  await cut;
  const loaded = readFileSync(modules, 'utf8').split('\n');
  expect(loaded.filter((url) => url.includes('/@mikro-orm/'))).toEqual([]);
});
