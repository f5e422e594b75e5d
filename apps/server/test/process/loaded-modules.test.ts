import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder, PATIENTLY } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { startServer } from '../support/spawned-server.ts';

test('MikroORM is loaded after the start, before a request needs it, and nothing of OpenTelemetry without its settings', async () => {
  using folder = createTemporaryFolder();
  const list = join(folder.path, 'modules');
  const hook = import.meta.resolve('@petstore/testing/list-loaded-modules');
  await using started = await startServer({
    NODE_OPTIONS: `--import=${hook}`,
    LOADED_MODULES: list,
    OTEL_TRACES_EXPORTER: 'none',
  });
  const { server } = started;
  await fetch(`${await server.url()}/v1/store/orders`);
  await server.metrics();
  await vi.waitFor(() => expect(readFileSync(list, 'utf8')).toContain('@mikro-orm/postgresql'), PATIENTLY);
  const loaded = readFileSync(list, 'utf8').split('\n');
  expect(loaded.some((url) => url.endsWith('/http/app.ts'))).toBe(true);
  const ofOrm = loaded.findIndex((url) => url.includes('/@mikro-orm/'));
  expect(loaded.slice(ofOrm).filter((url) => url.includes('/apps/server/src/'))).toEqual([]);
  // prom-client loads the API of OpenTelemetry, which is nothing without an SDK.
  expect(loaded.filter((url) => /opentelemetry\+(?!api@)|start-tracing/.test(url))).toEqual([]);
});
