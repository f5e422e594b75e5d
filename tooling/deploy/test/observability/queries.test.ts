import { createPetstoreClient } from '@petstore/client';
import { DEFAULT_BOUNDS } from '@petstore/server/http-bounds';
import { createServerDatabase, KEYS } from '@petstore/server/test-support/database';
import { startServer } from '@petstore/server/test-support/spawned-server';
import { beforeAll, expect, test, vi } from 'vitest';
import {
  ALERTS,
  OTHER_DASHBOARD_QUERIES,
  PANEL_DESCRIPTIONS,
  PANEL_QUERIES,
  type Query,
} from './support/committed-files.ts';

const ALERT_QUERIES = ALERTS.map(
  ({ alert, expr, annotations }): Query => ({ title: alert, expr, text: annotations.description }),
);

/** The metrics that a query reads, with their matchers, as in `up{job="petstore"}`. */
const selectorsIn = (expr: string) =>
  Array.from(
    expr.matchAll(/\b(\w+)\{(.*?)\}|\b(?:petstore|nodejs|process)_\w+/g),
    ([whole, metric = whole, matchers = '']) => ({ metric, matchers }),
  );

/** The metrics of a server that has served a request of each kind, and those that Prometheus adds. */
let scrape: string;
beforeAll(async () => {
  await using database = await createServerDatabase({ orders: 1_000 });
  await using started = await startServer({ DATABASE_URL: database.url });
  const [url, adminUrl] = [await started.server.url(), await started.server.adminUrl()];
  const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
  for (const path of ['/v1/store/orders', '/v1/pets/1', '/docs', '/v1/openapi.json']) {
    await fetch(url + path, { headers }).then((response) => response.arrayBuffer());
  }
  const client = createPetstoreClient({ baseUrl: url, apiKey: KEYS.internal.text });
  await client.orders.place.mutate({ petId: 7n, quantity: 1 });
  const ofServer = await vi.waitUntil(
    async () => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      return /^nodejs_gc_duration_seconds_sum\{/m.test(text) && text; // the garbage may not have been collected yet
    },
    { timeout: 20_000, interval: 200 },
  );
  const ofAlerts = ALERTS.map(
    ({ alert, labels }) => `ALERTS{alertname="${alert}",alertstate="firing",severity="${labels.severity}"} 1`,
  );
  scrape = [ofServer, 'up 1', ...ofAlerts].join('\n');
});

/** Patterns of lines that a scrape holds if it has the metrics, labels and values that a query names. */
function linesFor({ expr, text }: Query): readonly string[] {
  const selectors = selectorsIn(expr);
  const metrics = selectors.map(({ metric }) => metric).join('|');
  const matched = selectors.flatMap(({ metric, matchers }) =>
    Array.from(matchers.matchAll(/(\w+)[=!]=?~?"(.*?)"/g)).flatMap(([, label = '', values = '']) =>
      // `key!=""` names the label alone.
      values.split('|').map((value) => ({ metric, label, value: value || '.*' })),
    ),
  );
  const grouped = expr.matchAll(/\b(?:by|on|group_left) ?\((.*?)\)/g);
  const told = text.matchAll(/\{\{ ?(?:\$labels\.)?([a-z_]+) ?\}\}/g);
  const made = Array.from(expr.matchAll(/label_replace\(.*?, "(\w+)"/g), ([, label]) => label);
  const named = [...grouped, ...told]
    .flatMap(([, labels = '']) => labels.split(', '))
    .filter((label) => !made.includes(label))
    .map((label) => ({ metric: metrics, label, value: '.*' }));
  return [
    ...selectors.map(({ metric }) => `${metric}[{ ]`),
    ...[...matched, ...named]
      .filter(({ label }) => label !== 'job' && label !== 'instance') // Prometheus adds them to each series
      .map(({ metric, label, value }) => `(${metric})\\{(.*,)?${label}="${value}"`),
  ];
}

test.each([...PANEL_QUERIES, ...OTHER_DASHBOARD_QUERIES, ...ALERT_QUERIES])(
  'a server has what is asked for by $title: $expr',
  (query) => {
    const lines = linesFor(query);
    expect(lines).not.toEqual([]);
    expect(lines.filter((line) => !new RegExp(`^${line}`, 'm').test(scrape))).toEqual([]);
  },
);

test('the dashboard shows each metric of ours, of the servers that its reader has chosen', () => {
  const shown = PANEL_QUERIES.flatMap(({ expr }) => selectorsIn(expr));
  const ours = Array.from(scrape.matchAll(/^# TYPE (petstore_\w+)/gm), ([, name = '']) => name);
  expect(ours).not.toEqual([]);
  const isShown = (name: string) => shown.some(({ metric }) => metric.replace(/_(bucket|count)$/, '') === name);
  expect(ours.filter((name) => !isShown(name))).toEqual([]);
  expect(shown.filter(({ matchers }) => !matchers.includes('job="$job"'))).toEqual([]);
});

test('an alert is held back by alerts alone that stand before it and are as severe', () => {
  ALERTS.forEach(({ alert, expr, labels }, index) => {
    const earlier = ALERTS.slice(0, index).filter(
      ({ labels: { severity } }) => severity === 'page' || severity === labels.severity,
    );
    const causes = [...expr.matchAll(/alertname=~"(.*?)"/g)].flatMap(([, names = '']) => names.split('|'));
    expect(
      earlier.map((cause) => cause.alert),
      alert,
    ).toEqual(expect.arrayContaining(causes));
  });
});

test('PetstoreNearCapacity goes by the bounds of a server', () => {
  const { expr } = ALERTS.find(({ alert }) => alert === 'PetstoreNearCapacity') ?? { expr: '' };
  const { maxConnections, maxRequestsInFlight, maxLongLists } = DEFAULT_BOUNDS;
  const bounds = [...expr.matchAll(/petstore_\w+ \/ (\d+)/g)].map(([, bound]) => Number(bound));
  expect(bounds).toEqual([maxConnections, maxRequestsInFlight, maxLongLists]);
});

test.each([
  ['Connections', DEFAULT_BOUNDS.maxConnections],
  ['Requests in flight', DEFAULT_BOUNDS.maxRequestsInFlight],
  ['Long lists', DEFAULT_BOUNDS.maxLongLists],
  ['Waiting calls', DEFAULT_BOUNDS.maxWaitingCalls],
])('the panel "%s" names the bound of a server, %i', (title, bound) => {
  expect(PANEL_DESCRIPTIONS.get(title)).toMatch(new RegExp(`\\b${bound.toLocaleString('en')}\\b`));
});

test('no alert goes by calls that wait, of which none is refused', () => {
  expect(ALERTS.filter(({ expr }) => expr.includes('petstore_http_waiting'))).toEqual([]);
});
