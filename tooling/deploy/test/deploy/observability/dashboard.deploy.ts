import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient } from '@petstore/client';
import { openPersistence } from '@petstore/persistence';
import { KEYS, prepareServerDatabase } from '@petstore/server/test-support/database';
import { ROOT } from '@petstore/server/test-support/documentation';
import { bearer, startServer } from '@petstore/server/test-support/spawned-server';
import { PATIENCE_MS, startPostgresServer } from '@petstore/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ALERT_RULES_FILE, ALERTS, PANEL_QUERIES } from '../../observability/support/committed-files.ts';
import { promtool, startPrometheus, type TestPrometheus } from './support/prometheus.ts';

/** The prometheus.yml of docs/operations.md, with the address of the test's server. */
function documentedConfig(target: string): string {
  const document = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, block = ''] = /```yaml\n(scrape_configs:\n[\s\S]*?)```/.exec(document) ?? [];
  const here = block
    .replace(/targets: \[.*\]/, `targets: ['${target}']`)
    .replace('petstore-alerts.yaml', ALERT_RULES_FILE)
    .replace('15s', '1s');
  expect(here).toContain(target);
  return `global: { evaluation_interval: 1s }\n${here}`;
}

/** Sends requests such as callers send, and a few that are refused, until it is disposed of. */
function startTraffic(url: string): AsyncDisposable {
  const stop = new AbortController();
  const client = createPetstoreClient({ baseUrl: url, apiKey: KEYS.internal.text });
  const get = async (path: string, key?: string) => {
    const response = await fetch(url + path, key === undefined ? {} : { headers: bearer(key) });
    await response.arrayBuffer();
  };
  const sending = (async () => {
    while (!stop.signal.aborted) {
      const { id } = await client.orders.place.mutate({ petId: 7n, quantity: 1 });
      await client.orders.get.query({ orderId: id });
      await client.orders.cancel.mutate({ orderId: id });
      for (const path of ['/v1/store/orders', '/v2/store/orders?limit=5', '/v1/pets/1', '/v1/nothing']) {
        await get(path, KEYS.unlimited.text);
      }
      await get('/v1/store/orders');
      await sleep(50);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sending;
    },
  };
}

const resources = new AsyncDisposableStack();
let prometheus: TestPrometheus;
let metrics: string;
beforeAll(async () => {
  const postgres = resources.use(await startPostgresServer());
  await prepareServerDatabase(postgres.url);
  {
    await using persistence = openPersistence({ databaseUrl: postgres.url, patienceMs: PATIENCE_MS });
    await persistence.orders.generateOrders({ count: 1_000, seed: 1, now: new Date() });
  }
  const { server } = resources.use(await startServer({ DATABASE_URL: postgres.url }));
  const [url, adminUrl] = [await server.url(), await server.adminUrl()];
  prometheus = resources.use(await startPrometheus(documentedConfig(new URL(adminUrl).host)));
  resources.use(startTraffic(url));
  const client = createPetstoreClient({ baseUrl: url, apiKey: KEYS.internal.text });
  const leave = new AbortController();
  const following = (async () => {
    for await (const _ of client.events({ signal: leave.signal }));
  })().catch(() => {});
  resources.defer(async () => {
    leave.abort();
    await following;
  });
  await sleep(6_000); // rates need several scrapes
  metrics = await (await fetch(`${adminUrl}/metrics`)).text();
});
afterAll(() => resources.disposeAsync());

/** Fills in the variables as Grafana does. A query for failures (`> 0`) shows nothing while there are none. */
const filledIn = (expression: string) =>
  expression
    .replace(/ > 0$/, '')
    .replaceAll('$__rate_interval', '5s')
    .replaceAll('$job', 'petstore')
    .replaceAll('$instance', '.*');

test.each(PANEL_QUERIES)(
  'the panel "$title" shows $text of servers that Prometheus scrapes as documented',
  async ({ expr, text }) => {
    // A garbage collection, for example, need not have happened within the interval.
    const result = await vi.waitUntil(
      async () => {
        const found = await prometheus.query(filledIn(expr));
        return found.length > 0 && found;
      },
      { timeout: 20_000, interval: 500 },
    );
    const labels = [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    for (const { metric } of result) expect(Object.keys(metric)).toEqual(expect.arrayContaining(labels));
  },
);

test('Prometheus evaluates all alerts, and raises none', async () => {
  const { groups } = (await prometheus.get('/api/v1/rules')) as {
    groups: readonly { readonly rules: readonly { readonly health: string; readonly state: string }[] }[];
  }; // as documented
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.length).toBe(ALERTS.length);
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  expect(rules.filter(({ state }) => state === 'firing')).toEqual([]);
});

test('promtool finds nothing wrong with the metrics', () => {
  expect(promtool(['check', 'metrics'], metrics)).toBe('');
});
