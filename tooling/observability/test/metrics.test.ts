import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPetstoreClient } from '@petstore/client';
import { openPersistence } from '@petstore/persistence';
import { KEYS, prepareServerDatabase, ROOT, startServer } from '@petstore/server/test-support';
import { startPostgresServer } from '@petstore/testing';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { ALERTS } from '../src/alerts.ts';
import { ROWS } from '../src/panels/rows.ts';
import { type Matcher, parseQuery } from './support/promql.ts';

/** What Prometheus adds, and labels of its targets. */
const OF_PROMETHEUS = new Map([
  ['up', new Map()],
  [
    'ALERTS',
    new Map([
      ['alertname', new Set(ALERTS.map(({ name }) => name))],
      ['alertstate', new Set(['firing'])],
      ['severity', new Set(['page'])],
    ]),
  ],
]) as ReadonlyMap<string, Labels>;
const OF_TARGETS = ['job', 'instance'];

/** The values of each label. */
type Labels = ReadonlyMap<string, ReadonlySet<string>>;

interface UsedQuery {
  readonly where: string;
  readonly expression: string;
  /** With labels as in `{{operation}}`. */
  readonly legend?: string;
}

const promqlIn = (document: string): readonly UsedQuery[] =>
  [...readFileSync(join(ROOT, document), 'utf8').matchAll(/```promql\n([\s\S]*?)```/g)]
    .flatMap(([, block = '']) => block.split(/^#.*\n/m).filter((query) => query.trim() !== ''))
    .map((expression) => ({ where: document, expression }));

const QUERIES: readonly UsedQuery[] = [
  ...ROWS.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) => queries.map((query) => ({ where: `panel ${title}`, ...query }))),
  ),
  ...ALERTS.map(({ name, expression, description }) => ({
    where: name,
    expression,
    legend: description.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '{{$1}}'),
  })),
  ...promqlIn('docs/rate-limiting.md'),
];

/** The metrics of a running server, after one request of each kind, with the values of their labels. */
let metrics: ReadonlyMap<string, Labels>;
beforeAll(async () => {
  await using postgres = await startPostgresServer();
  await prepareServerDatabase(postgres.url);
  await using persistence = openPersistence({ databaseUrl: postgres.url });
  await persistence.orders.generateOrders({ count: 1_000, seed: 1, now: new Date() });
  await using started = await startServer({ DATABASE_URL: postgres.url });
  const url = await started.server.url();
  const headers = { authorization: `Bearer ${KEYS.unlimited.text}` };
  for (const path of ['/v1/store/orders', '/v1/pets/1', '/docs', '/v1/openapi.json']) {
    await fetch(url + path, { headers }).then((response) => response.arrayBuffer());
  }
  const client = createPetstoreClient({ baseUrl: url, apiKey: KEYS.internal.text });
  await client.orders.place.mutate({ petId: 7n, quantity: 1 });
  const adminUrl = await started.server.adminUrl();
  await vi.waitFor(
    async () => {
      metrics = readLabels(await (await fetch(`${adminUrl}/metrics`)).text());
      expect([...metrics.keys()]).toContain('nodejs_gc_duration_seconds_sum');
    },
    { timeout: 20_000 }, // the first collection of garbage comes when it comes
  );
});

function readLabels(text: string): ReadonlyMap<string, Labels> {
  const metrics = new Map<string, Map<string, Set<string>>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const known = metrics.get(name) ?? new Map<string, Set<string>>();
    metrics.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  }
  return metrics;
}

const labelsOf = (metric: string): Labels | undefined => metrics.get(metric) ?? OF_PROMETHEUS.get(metric);

/** Of what is asked for, all that no series has: each alternative of a pattern has to be there, too. */
function missingOf({ label, operator, value }: Matcher, values: ReadonlySet<string> | undefined): readonly string[] {
  if (values === undefined) return [`${label}, which it does not have`];
  if (value === '') return []; // whatever is there
  const asked = operator === '=' || operator === '!=' ? [value] : value.split('|');
  const isThere = (each: string) =>
    [...values].some((known) => (operator.endsWith('~') ? new RegExp(`^(?:${each})$`).test(known) : known === each));
  // A pattern in parentheses is not taken apart.
  const whole = operator.endsWith('~') && /[()]/.test(value) ? [value] : asked;
  return whole.filter((each) => !isThere(each)).map((each) => `${label}="${each}"`);
}

describe('a query asks for nothing that a server does not have:', () => {
  test.each(QUERIES)('$where: $legend', ({ where, expression, legend = '' }) => {
    const { selectors, groupedBy } = parseQuery(expression);
    expect(selectors.length).toBeGreaterThan(0);
    const available = new Set<string>(OF_TARGETS);
    for (const { metric, matchers } of selectors) {
      const labels = labelsOf(metric);
      expect(labels, `${where} reads ${metric}`).toBeDefined();
      for (const label of labels?.keys() ?? []) available.add(label);
      const ofIt = matchers.filter(({ label }) => !OF_TARGETS.includes(label));
      expect(
        ofIt.flatMap((matcher) => missingOf(matcher, labels?.get(matcher.label))),
        metric,
      ).toEqual([]);
    }
    for (const [, made = ''] of expression.matchAll(/label_replace\(.*?, "(\w+)"/g)) available.add(made);
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect([...groupedBy, ...shown].filter((label) => !available.has(label ?? ''))).toEqual([]);
  });
});

test('the dashboard or an alert shows each metric of ours', () => {
  const read = new Set(
    QUERIES.flatMap(({ expression }) => parseQuery(expression).selectors.map(({ metric }) => metric)),
  );
  const ours = [...metrics.keys()].filter((metric) => metric.startsWith('petstore_'));
  // Of a histogram its buckets or its count will do.
  const isRead = (metric: string) => {
    const family = metric.replace(/_(?:bucket|sum|count)$/, '');
    return [metric, `${family}_bucket`, `${family}_count`].some((name) => read.has(name));
  };
  expect(ours.length).toBeGreaterThan(25);
  expect(ours.filter((metric) => !isRead(metric))).toEqual([]);
});
