import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder, PATIENTLY } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { KEYS } from '../support/database.ts';
import { beginUnfinished, startServer } from '../support/spawned-server.ts';

/** Makes a server write what it loads to a file. */
const listingTo = (file: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${import.meta.resolve('@petstore/testing/list-loaded-modules')}`,
  LOADED_MODULES: file,
});

test('MikroORM is loaded after the start, before a request needs it, and nothing of pages, of schemas of routes, or of traces', async () => {
  using folder = createTemporaryFolder();
  const list = join(folder.path, 'modules');
  await using started = await startServer({ ...listingTo(list), OTEL_TRACES_EXPORTER: 'none' });
  const { server } = started;
  await fetch(`${await server.url()}/v1/store/orders`);
  await server.metrics();
  await vi.waitFor(() => expect(readFileSync(list, 'utf8')).toContain('@mikro-orm/postgresql'), PATIENTLY);
  const loaded = readFileSync(list, 'utf8').split('\n');
  expect(loaded.some((url) => url.endsWith('/http/app.ts'))).toBe(true);
  const ofOrm = loaded.findIndex((url) => url.includes('/@mikro-orm/'));
  expect(loaded.slice(ofOrm).filter((url) => url.includes('/apps/server/src/'))).toEqual([]);
  // Neither what pages are rendered with, nor what would compile schemas for Fastify.
  expect(loaded.filter((url) => /\/(?:highlight\.js|marked|ajv)@/.test(url))).toEqual([]);
  // prom-client loads the API of OpenTelemetry, which is nothing without an SDK.
  expect(loaded.filter((url) => /opentelemetry\+(?!api@)|start-tracing/.test(url))).toEqual([]);
});

test('a server that is stopped as soon as it has started does not load MikroORM, however long requests take', async () => {
  using folder = createTemporaryFolder();
  const list = join(folder.path, 'modules');
  await using started = await startServer({ ...listingTo(list), SHUTDOWN_TIMEOUT: '5s' });
  const { server } = started;
  // The shutdown lasts until it is cut.
  const cut = once(await beginUnfinished(await server.url(), KEYS.free.text), 'error');
  const { afterMs } = await server.stop('SIGTERM');
  await cut;
  expect(afterMs).toBeGreaterThan(1_500); // MikroORM would be loaded after 1 s
  const ofOrm = readFileSync(list, 'utf8')
    .split('\n')
    .filter((url) => url.includes('/@mikro-orm/'));
  expect(ofOrm).toEqual([]);
});
