import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formatWithOptions } from 'node:util';
import { hasFixedLimits, PLAN_NAMES } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startReadmeService } from './support/shown-programs.ts';

const PACKAGE = resolve(import.meta.dirname, '..');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
const EXAMPLES = readdirSync(join(PACKAGE, 'examples'));

/** The block below a comment that names it. */
const blockOf = (name: string): string | undefined => {
  const [, after] = README.split(`<!-- ${name} -->\n`);
  return after && /^```\w*\n(.*?)```$/ms.exec(after)?.[1];
};

/** Runs an example, and waits until it has printed this. */
async function expectOutput(file: string, printed: string | undefined): Promise<void> {
  await using service = await startReadmeService();
  vi.stubEnv('PETSTORE_URL', service.origin);
  vi.stubEnv('PETSTORE_API_KEY', 'internal');
  vi.resetModules(); // so that it runs each time
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((...values) => {
    lines.push(`${formatWithOptions({ colors: false }, ...values)}\n`);
  });
  await import(join(PACKAGE, 'examples', file));
  await vi.waitFor(() => expect(lines.join('')).toBe(printed), PATIENTLY);
}

const PRINTS: Readonly<Record<string, string>> = {
  'rest-patience.ts': '2 orders\n',
  'trpc-own-client.ts': 'order 1 is pending\norder 2 is shipped\norder 3 is cancelled\n',
};

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe('the README', () => {
  test.each(EXAMPLES)('shows examples/%s as it is, and what it prints', async (file) => {
    expect(blockOf(`examples/${file}`)).toBe(readFileSync(join(PACKAGE, 'examples', file), 'utf8'));
    await expectOutput(file, blockOf(`output of examples/${file}`) ?? PRINTS[file]);
  });

  test('names each plan that a test can choose', () => {
    const plans = PLAN_NAMES.filter(hasFixedLimits).map((name) => `\`'${name}'\``);
    expect(README).toContain(`- \`plan\` is ${plans.join(', ')}, or limits: `);
  });

  test('shows no other program', () => {
    expect(README.match(/```ts/g)).toHaveLength(EXAMPLES.length);
  });

  test('shows a client of your own that may make any number of calls in a tick', async () => {
    await using service = await startReadmeService();
    vi.stubEnv('PETSTORE_URL', service.origin);
    vi.stubEnv('PETSTORE_API_KEY', 'internal');
    vi.spyOn(console, 'log').mockReturnValue();
    vi.resetModules();
    const { petstore } = await import('../examples/trpc-own-client.ts');
    const calls = Array.from({ length: 150 }, () => petstore.orders.get.query({ orderId: 1n }));
    expect(await Promise.all(calls)).toHaveLength(150);
  });

  test('writes ids as texts where there is no JSON.rawJSON', async () => {
    vi.spyOn(JSON as { rawJSON?: unknown }, 'rawJSON', 'get').mockReturnValue(undefined);
    await expectOutput(
      'rest-json.ts',
      blockOf('output of examples/rest-json.ts')?.replaceAll(/("(?:id|petId)"):(\d+)/g, '$1:"$2"'),
    );
  });
});
