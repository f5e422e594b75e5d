import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Order, orderId, petId } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { type Fault, startTestService } from './support/test-service.ts';

const PACKAGE = resolve(import.meta.dirname, '..');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
const EXAMPLES = readdirSync(join(PACKAGE, 'examples'));
const run = promisify(execFile);

/** The block below a comment that names it. */
const blockOf = (name: string): string | undefined => {
  const [, after] = README.split(`<!-- ${name} -->\n`);
  return after && /^```\w*\n(.*?)```$/ms.exec(after)?.[1];
};

const PLACED_AT = new Date('2026-11-20T12:00:00.000Z');
const facts = (id: bigint, quantity: number) => ({
  id: orderId(id),
  petId: petId(id * 7n),
  quantity,
  placedAt: PLACED_AT,
});
/** What the examples find. */
const ORDERS: readonly Order[] = [
  { ...facts(1n, 2), status: 'pending', complete: false },
  { ...facts(2n, 1), status: 'shipped', complete: false, shippedAt: PLACED_AT },
];

/** Runs an example as its reader would. @returns what it prints */
async function runExample(file: string, nodeOptions: readonly string[] = [], ...faults: Fault[]): Promise<string> {
  await using service = await startTestService();
  service.faults.push(...faults);
  const { rejected } = await service.persistence.orders.importOrders(
    (async function* () {
      for (const [index, value] of ORDERS.entries()) yield { line: index + 1, value };
    })(),
  );
  expect(rejected).toEqual([]);
  const env = { ...process.env, PETSTORE_URL: service.origin, PETSTORE_API_KEY: 'internal', NO_COLOR: '1' };
  const { stdout } = await run('node', [...nodeOptions, join('examples', file)], { cwd: PACKAGE, env });
  return stdout;
}

const PRINTS: Readonly<Record<string, string>> = {
  'trpc-own-events.ts': '1 order.imported 1\n2 order.imported 2\n',
  'rest-patience.ts': '2 orders\n',
  'trpc-own-client.ts': 'order 1 is pending\norder 2 is shipped\norder 3 is cancelled\n',
};

describe('the README', () => {
  test.each(EXAMPLES)('shows examples/%s as it is', (file) => {
    expect(blockOf(`examples/${file}`)).toBe(readFileSync(join(PACKAGE, 'examples', file), 'utf8'));
  });

  test('shows no other program', () => {
    expect(README.match(/```ts/g)).toHaveLength(EXAMPLES.length);
  });

  test.each(EXAMPLES)('shows what examples/%s prints', { timeout: 90_000 }, async (file) => {
    const printed = blockOf(`output of examples/${file}`) ?? PRINTS[file];
    expect(await runExample(file)).toBe(printed);
  });

  test('shows an EventSource that outlasts a 5xx', { timeout: 90_000 }, async () => {
    // The timer of `eventsource` keeps no program running; this one does, until the last event.
    const busy = `
      const timer = setInterval(() => {}, 1_000);
      const { log } = console;
      console.log = (text) => { log(text); if (text.startsWith('2 ')) clearInterval(timer); };
    `;
    const options = ['--import', `data:text/javascript,${encodeURIComponent(busy)}`];
    const printed = await runExample('trpc-own-events.ts', options, 'unavailable', 'cut-response', 'unavailable');
    expect(printed).toBe(PRINTS['trpc-own-events.ts']);
  });

  test('writes ids as texts where there is no JSON.rawJSON', { timeout: 90_000 }, async () => {
    const printed = await runExample('rest-json.ts', ['--import', 'data:text/javascript,delete JSON.rawJSON']);
    expect(printed).toContain('{"id":"1","petId":"7","quantity":2,"complete":false}');
  });
});
