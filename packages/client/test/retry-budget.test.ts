import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PetstoreError, type PetstoreRestClient } from '../src/rest.ts';
import { startScriptedServer } from './support/scripted-server.ts';
import { createTestRestClient } from './support/test-clients.ts';
import { TestClock } from './support/test-clock.ts';

/** One of all the things that may come back for a request. */
interface ScriptedAnswer {
  readonly status: number;
  readonly retryAfter: { readonly form: 'seconds' | 'date' | 'nonsense' | 'none'; readonly seconds: number };
  readonly body: string;
  readonly fate: 'whole' | 'destroyed-before' | 'destroyed-after-head' | 'no-response';
}

const scriptedAnswer = fc.record({
  status: fc.constantFrom(
    200,
    204,
    304,
    400,
    401,
    404,
    408,
    409,
    410,
    418,
    429,
    429,
    429,
    500,
    502,
    503,
    503,
    504,
    599,
  ),
  retryAfter: fc.record({
    form: fc.constantFrom('seconds', 'date', 'nonsense', 'none'),
    seconds: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 10_000_000 })),
  }),
  body: fc.constantFrom(
    '[]',
    '[{"id":1},{"id":9223372036854775807}]',
    '{"id":1,"name":"Rex"}',
    '{"code":"order_already_cancelled","message":"m","status":409}',
    '{"code":"rate_limit_exceeded","message":"m","status":429}',
    '<html>',
    '[{"id":',
    '',
  ),
  fate: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'destroyed-before', 'destroyed-after-head', 'no-response'),
}) satisfies fc.Arbitrary<ScriptedAnswer>;

const CALLS = {
  toArray: (client) => client.listOrders().toArray(),
  iterate: async (client) => {
    for await (const _ of client.listOrders()) if (_ === undefined) break;
  },
  cancelOrder: (client) => client.cancelOrder({ orderId: 5n }),
  getPetById: (client) => client.getPetById({ petId: 5n }),
} satisfies Record<string, (client: PetstoreRestClient) => Promise<unknown>>;

const RETRY_AFTER_MAX_SECONDS = 60;
const RETRYABLE = [408, 429, 500, 502, 503, 504];

/** A longer run is `PETSTORE_PROPERTY_RUNS=20000`. */
const RUNS = Math.ceil(Number(process.env['PETSTORE_PROPERTY_RUNS'] || 250) / 2);

describe('whatever the server responds, a call', () => {
  test('stays within its budget, never comes back earlier than announced, and ends', {
    timeout: 60_000 + RUNS * 1_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(scriptedAnswer, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...(Object.keys(CALLS) as (keyof typeof CALLS)[])), // its own keys
        fc.integer({ min: 0, max: 4 }),
        playScript,
      ),
      { numRuns: RUNS },
    );
  });
});

async function playScript(script: readonly ScriptedAnswer[], name: keyof typeof CALLS, maxRetries: number) {
  const clock = new TestClock();
  /** When a request came, and from when on the next one may. */
  const log: { readonly arrivedMs: number; readonly nextMs: number; readonly answer: ScriptedAnswer }[] = [];
  await using server = await startScriptedServer((_, response) => {
    const answer = script[Math.min(log.length, script.length - 1)];
    if (answer === undefined) throw new Error('The script is empty.');
    const arrivedMs = clock.now();
    log.push({ arrivedMs, nextMs: send(answer, response, arrivedMs), answer });
    if (answer.fate === 'no-response') clock.timeOut();
  });
  const client = createTestRestClient({
    baseUrl: server.origin,
    apiKey: 'key',
    maxRetries,
    timeoutMs: clock.timeoutMs,
    maxRetryAfterSeconds: RETRY_AFTER_MAX_SECONDS,
    clock,
  });
  const [outcome] = await Promise.allSettled([CALLS[name](client)]);
  if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(PetstoreError);
  expect(log.length).toBeGreaterThanOrEqual(1);
  expect(log.length).toBeLessThanOrEqual(1 + maxRetries);
  for (const [index, { arrivedMs, nextMs, answer }] of log.entries()) {
    const next = log[index + 1];
    if (next === undefined) continue;
    expect(next.arrivedMs).toBeGreaterThanOrEqual(nextMs);
    if (answer.fate === 'whole' && answer.status >= 300) expect(RETRYABLE).toContain(answer.status);
    expect(nextMs - arrivedMs).toBeLessThanOrEqual(RETRY_AFTER_MAX_SECONDS * 1_000);
  }
}

/** @returns from when on the client may come back, by the headers that it understands */
function send({ status, retryAfter, body, fate }: ScriptedAnswer, response: ServerResponse, nowMs: number): number {
  const { form, seconds } = retryAfter;
  const toldMs = { seconds: seconds * 1_000, date: seconds * 1_000, nonsense: 0, none: 0 }[form];
  switch (fate) {
    case 'no-response':
      return nowMs;
    case 'destroyed-before':
      response.socket?.destroy();
      return nowMs;
    default:
  }
  response.sendDate = false;
  // A date has no fractions of seconds, and is by the clock that the client has too.
  const date = new Date(Math.ceil(nowMs / 1_000) * 1_000 + toldMs);
  const text = { seconds: `${seconds}`, date: date.toUTCString(), nonsense: 'in a while', none: undefined }[form];
  if (text !== undefined) response.setHeader('retry-after', text);
  response.writeHead(status, { 'content-type': 'application/json' });
  if (fate === 'whole') response.end(body);
  else response.write(body === '' ? ' ' : body, () => response.socket?.destroy());
  // Without an error the header means nothing.
  return status < 400 ? nowMs : nowMs + toldMs;
}
