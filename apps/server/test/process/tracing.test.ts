import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPetstoreClient } from '@petstore/client';
import { openPersistence } from '@petstore/persistence';
import { createTemporaryFolder, findFreePort, PATIENCE_MS, PATIENTLY, startHttpServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { wantsTracing } from '../../src/tracing/load-tracing.ts';
import { createKey, KEYS, planOf } from '../support/database.ts';
import { type StartedServer, startServer } from '../support/spawned-server.ts';

/** As much of a span in OTLP's JSON as is looked at. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code: number };
  readonly events: readonly { readonly name: string }[];
}

interface OtlpExport {
  readonly resourceSpans: readonly {
    readonly resource: Pick<OtlpSpan, 'attributes'>;
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const attributesOf = (span: Pick<OtlpSpan, 'attributes'> | undefined): Record<string, unknown> =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));

/** Statements are known by names of ours (before a hash), and calls over tRPC by their path, which are attributes. */
const named = (span: OtlpSpan): OtlpSpan => {
  const { 'db.postgresql.plan': statement, 'url.path': path } = attributesOf(span);
  const name = statement ?? (String(path).startsWith('/trpc/') ? path : span.name);
  return { ...span, name: String(name).replace(/-[0-9a-f]{8}$/, '') };
};

/** What spans are sent to: OTLP over HTTP. */
async function startCollector() {
  const spans: OtlpSpan[] = [];
  const types: (string | undefined)[] = [];
  const bodies: Buffer[] = [];
  let isSilent = false;
  let resource: Record<string, unknown> = {};
  const server = await startHttpServer(async (request, response) => {
    types.push(request.headers['content-type']);
    const body = Buffer.concat(await request.toArray());
    bodies.push(body);
    if (request.headers['content-type'] === 'application/json') {
      const { resourceSpans } = JSON.parse(body.toString()) as OtlpExport; // OTLP's form
      for (const { resource: sender, scopeSpans } of resourceSpans) {
        resource = attributesOf(sender);
        spans.push(...scopeSpans.flatMap((scope) => scope.spans).map(named));
      }
    }
    if (!isSilent) response.setHeader('content-type', 'application/json').end('{}');
  });
  return {
    url: server.origin,
    types,
    bodies,
    resource: () => resource,
    /** From now on it responds to nothing. */
    silence() {
      isSilent = true;
    },
    paths: () => spans.map((span) => attributesOf(span)['url.path']),
    /** The spans of a trace, once these have come. */
    trace: (traceId: string, ...names: readonly string[]): Promise<readonly OtlpSpan[]> =>
      vi.waitUntil(
        () => {
          const ofTrace = spans.filter((span) => span.traceId === traceId);
          return names.every((name) => ofTrace.some((span) => span.name === name)) && ofTrace;
        },
        { timeout: 20_000 },
      ),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Of each span in OTLP's protobuf: its first field of 16 bytes, which the second one of 8, the id of the span, follows. */
const traceIdsOf = (body: Buffer) => Array.from(body.toString('hex').matchAll(/0a10(.{32})1208/g), ([, id]) => id);

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const SETTINGS = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_BSP_SCHEDULE_DELAY: '50' };
let traces = 0;
const newTrace = () => {
  const traceId = (++traces).toString(16).padStart(32, 'a');
  return { traceId, traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
};

describe('with a collector', () => {
  const resources = new AsyncDisposableStack();
  let collector: Awaited<ReturnType<typeof startCollector>>;
  let started: StartedServer;
  let url: string;
  beforeAll(async () => {
    collector = resources.use(await startCollector());
    started = resources.use(
      await startServer({
        ...SETTINGS,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        ACCESS_LOG: 'on',
      }),
    );
    url = await started.server.url();
  });
  afterAll(() => resources.disposeAsync());

  test('a request is a span of its caller’s trace, with the calls of Redis and PostgreSQL that it waited for below', async () => {
    const { server } = started;
    await vi.waitUntil(async () => (await server.readiness()).report['limits'] === 'redis', { timeout: 20_000 });
    const { traceId, traceparent } = newTrace();
    const { id, text } = KEYS.free;
    const response = await fetch(`${url}/v1/store/orders/-404?key=${text}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${text}`, traceparent },
    });
    expect(response.status).toBe(404);
    const root = 'DELETE /v1/store/orders/:orderId';
    const spans = await collector.trace(traceId, root, 'mark-keys-used', 'find-secret', 'apply-commands', 'evalsha');
    const byName = new Map(spans.map((span) => [span.name, span]));
    const rootSpan = byName.get(root);
    expect(rootSpan).toMatchObject({ parentSpanId: '00f067aa0ba902b7', kind: 2, status: { code: 0 } });
    for (const name of ['mark-keys-used', 'find-secret', 'apply-commands', 'evalsha']) {
      expect(byName.get(name), name).toMatchObject({ parentSpanId: rootSpan?.spanId, kind: 3, status: { code: 0 } });
    }
    expect(attributesOf(byName.get(root))).toMatchObject({
      'http.request.method': 'DELETE',
      'http.route': '/v1/store/orders/:orderId',
      'http.response.status_code': 404,
      'url.path': '/v1/store/orders/-404',
      'client.address': '127.0.0.1',
      'server.address': '127.0.0.1',
      'petstore.request_id': response.headers.get('x-request-id'),
      'petstore.api_key_id': id,
      'petstore.operation': 'cancelOrder',
      'petstore.error_code': 'order_not_found',
    });
    expect(attributesOf(byName.get('apply-commands'))).toMatchObject({
      'db.system.name': 'postgresql',
      'db.namespace': expect.any(String),
      'server.address': expect.any(String),
      'server.port': expect.anything(),
    });
    expect(attributesOf(byName.get('evalsha'))).toMatchObject({
      'db.system.name': 'redis',
      'db.query.text': 'evalsha', // without its arguments
      'server.address': '127.0.0.1',
    });
    expect(collector.resource()).toMatchObject({
      'service.name': 'petstore-orders',
      'service.version': expect.stringMatching(/^\d/),
      'deployment.environment.name': 'test',
    });
    await server.said(/"request completed"/);
    expect(server.logLines('request completed')).toContainEqual(expect.objectContaining({ traceId }));
  });

  test('a trace that begins here is named in the log, and no key is sent, wherever a caller put it', async () => {
    const { server } = started;
    const { id, text } = KEYS.unlimited;
    const headers = { authorization: `Bearer ${text}`, 'x-request-id': 'begins-here' };
    await fetch(`${url}/v1/store/orders/${text}?key=${text}`, { method: 'DELETE', headers });
    await server.said(/"begins-here"/);
    const [line] = server.logLines('request completed').filter(({ requestId }) => requestId === 'begins-here');
    const spans = await collector.trace(String(line?.['traceId']), 'DELETE /v1/store/orders/:orderId');
    expect(spans.flatMap((span) => Object.entries(attributesOf(span)))).toContainEqual(['petstore.api_key_id', id]);
    expect(Buffer.concat(collector.bodies).includes(text.slice(-20))).toBe(false);
  });

  test('over tRPC a request is a span, and what a list reads first is below it', async () => {
    const { databaseUrl } = started;
    await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
    await persistence.orders.generateOrders({ count: 5_000, seed: 1, now: new Date() });
    const { text } = await createKey(persistence, { kind: 'internal', plan: planOf(1_000) });
    const { traceId, traceparent } = newTrace();
    const client = createPetstoreClient({
      baseUrl: url,
      apiKey: text,
      fetch: (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set('traceparent', traceparent);
        return fetch(input, { ...init, headers });
      },
    });
    const [orders] = await Promise.all([client.orders.list.query(), client.limits.current.query()]);
    for await (const _ of orders);
    const spans = await collector.trace(traceId, '/trpc/orders.list', '/trpc/limits.current', 'list-orders-250');
    const call = spans.find(({ name }) => name === '/trpc/orders.list');
    expect(spans.find(({ name }) => name === 'list-orders-250')?.parentSpanId).toBe(call?.spanId);
  });

  test('probes are no spans', async () => {
    const adminUrl = await started.server.adminUrl();
    for (const path of ['/livez', '/readyz', '/metrics']) await fetch(adminUrl + path);
    const { traceId, traceparent } = newTrace();
    await fetch(`${url}/v1/store/orders`, { headers: { traceparent } });
    await collector.trace(traceId, 'GET /v1/store/orders');
    expect(collector.paths()).not.toContain('/livez');
    expect(collector.paths()).toContain('/v1/store/orders');
  });

  test('what fails by our doing is an error of its span, with the exception', async () => {
    const { databaseUrl } = started;
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query('alter table orders rename to orders_gone');
    const { traceId, traceparent } = newTrace();
    const { status } = await fetch(`${url}/v1/store/orders`, {
      headers: { authorization: `Bearer ${KEYS.unlimited.text}`, traceparent },
    });
    await database.query('alter table orders_gone rename to orders');
    await database.end();
    expect(status).toBe(503);
    const spans = await collector.trace(traceId, 'GET /v1/store/orders');
    const failed = spans.filter((span) => span.status.code === 2).map(({ name }) => name);
    expect(failed.toSorted()).toEqual([
      'GET /v1/store/orders',
      expect.stringMatching(/^list-order-texts-[0-9a-f]{8}-250$/),
    ]);
    expect(spans.find(({ name }) => name.startsWith('list-order-texts'))?.events).toEqual([
      expect.objectContaining({ name: 'exception' }),
    ]);
  });

  test('that no longer responds holds up neither requests nor the end', async () => {
    const { server } = started;
    const before = collector.types.length;
    collector.silence();
    const request = async () => expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
    await request();
    await vi.waitUntil(() => collector.types.length > before, PATIENTLY); // it waits for the response
    await request();
    const { code, afterMs } = await server.stop();
    expect(code).toBe(0);
    expect(afterMs).toBeLessThan(5_000);
  });
});

test('protobuf is the default; a caller decides whether its trace is recorded; the last spans are sent at the end', async () => {
  await using collector = await startCollector();
  await using started = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const { server } = started;
  const url = await server.url();
  const [unrecorded, recorded] = [newTrace(), newTrace()];
  const traceparent = unrecorded.traceparent.replace(/01$/, '00');
  await fetch(`${url}/v1/store/orders`, { headers: { authorization: `Bearer ${KEYS.free.text}`, traceparent } });
  await sleep(100); // what is in the background belongs to the trace, too
  await fetch(`${url}/v1/store/orders`, { headers: { traceparent: recorded.traceparent } });
  await server.stop();
  expect(collector.types).toEqual(['application/x-protobuf']);
  expect(new Set(collector.bodies.flatMap(traceIdsOf))).toEqual(new Set([recorded.traceId]));
});

test('that spans cannot be sent is one readable line, which names the settings', async () => {
  const port = await findFreePort(); // where nothing listens
  await using started = await startServer({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/v1/traces`,
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_EXPORTER_OTLP_TIMEOUT: '100', // it is not tried again
  });
  const { server } = started;
  expect((await fetch(`${await server.url()}/v1/store/orders`)).status).toBe(401);
  const [line] = await server.said(/^.*spans could not be exported.*$/m);
  expect(line).toMatch(/: connect ECONNREFUSED 127\.0\.0\.1:\d+; check OTEL_EXPORTER_OTLP_\*"?\}?$/);
});

test('that another SDK was there first is said, by its copy of the API of another version', async () => {
  using folder = createTemporaryFolder();
  const copy = join(folder.path, 'api');
  cpSync(new URL('.', import.meta.resolve('@opentelemetry/api')), copy, { recursive: true });
  for (const file of ['version.mjs', 'internal/global-utils.mjs']) {
    const source = readFileSync(join(copy, file), 'utf8');
    const changed = source.replace(/"\d+\.\d+\.\d+"/, '"1.9.0"');
    expect(changed, file).not.toBe(source);
    writeFileSync(join(copy, file), changed);
  }
  const other = join(folder.path, 'other.mjs');
  const registered =
    "if (!trace.setGlobalTracerProvider(new ProxyTracerProvider())) throw new Error('not registered');";
  writeFileSync(other, `import { ProxyTracerProvider, trace } from './api/index.mjs';\n${registered}\n`);
  await using started = await startServer({ ...ENDPOINT, NODE_OPTIONS: `--import=${other}` });
  const { server } = started;
  expect((await fetch(`${await server.url()}/v1/store/orders`)).status).toBe(401);
  await server.said(/^.*another SDK is already registered in this process.*unset OTEL_\*.*$/m);
});

test.each([
  ENDPOINT,
  { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' },
  { OTEL_TRACES_EXPORTER: 'console' },
  { ...ENDPOINT, OTEL_SDK_DISABLED: 'false' },
])('%o enables tracing', (environment) => expect(wantsTracing(environment)).toBe(true));

test.each([
  {},
  { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  { OTEL_SERVICE_NAME: 'shop', OTEL_TRACES_SAMPLER: 'always_on' },
  { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
  { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
  { OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'True' },
])('%o does not', (environment) => expect(wantsTracing(environment)).toBe(false));
