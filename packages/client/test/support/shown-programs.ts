import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Order, orderId, petId } from '@petstore/domain';
import { expect } from 'vitest';
import { startTestService, type TestService } from './test-service.ts';

const GUIDES = resolve(import.meta.dirname, '../../../../docs/guides');
const EXAMPLES = resolve(import.meta.dirname, '../../examples');
const run = promisify(execFile);

interface ShownProgram {
  /** Where it is shown. */
  readonly name: string;
  readonly language: 'js' | 'ts';
  readonly source: string;
}

/** Its packages come from a registry: a test of tooling/deploy runs it, with the commands beside it. */
const ELSEWHERE = 'client-tools.md 1';

/** The programs of the guides. */
export const GUIDE_PROGRAMS: readonly ShownProgram[] = readdirSync(GUIDES)
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) =>
    Array.from(
      readFileSync(join(GUIDES, file), 'utf8').matchAll(/^```([jt]s)\n(.*?)^```$/gms),
      ([, language, source = ''], i): ShownProgram => ({
        name: `${file} ${i}`,
        language: language === 'js' ? 'js' : 'ts',
        source,
      }),
    ),
  )
  .filter(({ name }) => name !== ELSEWHERE);

const README_PROGRAMS = readdirSync(EXAMPLES).map((file) => ({
  name: file,
  language: 'ts' as const,
  source: readFileSync(join(EXAMPLES, file), 'utf8'),
}));

/** All that are shown, with what they print among other things. */
const PRINTED: Readonly<Record<string, RegExp>> = {
  '64-bit-ids.md 0': /^\[ \{ id: 9007199254740993n, petId: 7n, quantity: 1 \} \] 9007199254740992\n$/,
  'client-tools.md 0': /^$/,
  'five-minutes-rest.md 0': /order_already_cancelled 409/,
  'five-minutes-trpc.md 0': /order_already_shipped/,
  'follow-orders.md 0': /^1 order\.imported /,
  'follow-orders.md 1': /^$/,
  'limits.md 0': /^$/,
  'v2-preview.md 0': /orders, \d+ so far/,
  'rest-events.ts': /^1 order\.imported: order 1 is pending/,
  'rest-json.ts': /"petId":/,
  'rest-orders.ts': /order 1: pet /,
  'rest-patience.ts': /\d+ orders/,
  'rest-v2.ts': /order \d+ is (pending|shipped)/,
  'testing.ts': /cancelled.*order_already_shipped/s,
  'trpc-events.ts': /order\.cancelled/,
  'trpc-orders.ts': /too late/,
  'trpc-own-client.ts': /is cancelled/,
};

/** It waits for new events, which only the whole service delivers: the server's tests of the documents run it. */
const LIVE = 'follow-orders.md 2';

/** It goes on until it is stopped. */
const ENDLESS = 'follow-orders.md 0';

interface Surroundings {
  readonly node: string;
  /** Where the client is installed. */
  readonly folder: string;
  readonly origin: string;
  /** Whether this Node runs TypeScript as it is. @default true */
  readonly runsTypeScript?: boolean;
}

/** Runs every program that we show, as a JavaScript module where it is one, and as one in TypeScript. */
export async function runShownPrograms({ node, folder, origin, runsTypeScript = true }: Surroundings): Promise<void> {
  const env = { PETSTORE_URL: origin, PETSTORE_API_KEY: 'internal', NO_COLOR: '1' };
  const programs = [...GUIDE_PROGRAMS, ...README_PROGRAMS].filter(({ name }) => name !== LIVE);
  expect(programs.map(({ name }) => name).toSorted()).toEqual(Object.keys(PRINTED).toSorted());
  for (const { name, language, source } of programs) {
    const endings = [...(language === 'js' ? ['mjs'] : []), ...(runsTypeScript ? ['mts'] : [])];
    for (const ending of endings) {
      const file = `${name.replace(/\W/g, '-')}.${ending}`;
      writeFileSync(join(folder, file), source.replaceAll('http://127.0.0.1:3000', origin));
      rmSync(join(folder, 'position'), { force: true }); // where the endless ones go on
      const running = run(node, [file], { cwd: folder, env, timeout: 60_000 });
      if (name === ENDLESS) running.child.stdout?.once('data', () => running.child.kill());
      const { stdout, stderr } = await running.catch((error) => (name === ENDLESS ? error : Promise.reject(error)));
      expect(stdout, file).toMatch(PRINTED[name] ?? /^$/);
      expect(stderr, file).toBe('');
    }
  }
}

const PLACED_AT = new Date('2026-11-20T12:00:00.000Z');
const facts = (id: bigint, quantity: number) => ({
  id: orderId(id),
  petId: petId(id * 7n),
  quantity,
  placedAt: PLACED_AT,
});
const ORDERS: readonly Order[] = [
  { ...facts(1n, 2), status: 'pending', complete: false },
  { ...facts(2n, 1), status: 'shipped', complete: false, shippedAt: PLACED_AT },
];

/** The service with the two orders that the examples of the README find. */
export async function startReadmeService(): Promise<TestService> {
  const service = await startTestService();
  await service.persistence.orders.importOrders(
    (async function* () {
      for (const [index, value] of ORDERS.entries()) yield { line: index + 1, value };
    })(),
  );
  return service;
}
