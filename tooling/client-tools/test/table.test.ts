import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GUIDE, readGuideFiles } from '../src/guide.ts';
import { renderTables, replaceTables, toolTitle } from '../src/table.ts';
import type { ClientTool, Outcome, ValidatorTool } from '../src/tool.ts';
import { TOOLS } from '../src/tools.ts';
import { judgeCalls, type Trial } from '../src/trial.ts';

const guide = readFileSync(GUIDE, 'utf8');
const [, written = ''] = /<!-- Written by .*? -->\n\n(.*)\n\n<!-- Until here. -->/s.exec(guide) ?? [];

describe('the guide', () => {
  const rowsOf = (head: string): string[][] => {
    const table = written.split('\n\n').find((text) => text.startsWith(`| ${head} |`)) ?? '';
    return table.split('\n').map((line) => line.slice(2, -2).split(' | '));
  };

  test('has a row for each tool in its pinned version, and for no other', () => {
    const titles = [...rowsOf('Client, generator, proxy').slice(2), ...rowsOf('Validator').slice(2)].map(
      ([name]) => name,
    );
    expect(titles).toEqual(TOOLS.map(toolTitle));
  });

  test('names the options that were tried', () => {
    expect(rowsOf('Tool').slice(2)).toEqual(TOOLS.map(({ name, options }) => [name, options]));
  });

  test('has the tables that are written, and nothing else between the marks', () => {
    const trial: Trial = { type: 'worked', ids: { type: 'exact' }, seesLimits: true };
    const types = { idsFit: true, codesAreClosed: true };
    const outcomes = TOOLS.map(
      (tool): Outcome =>
        tool.kind === 'validator'
          ? { tool, complaints: { v1: '', v2: '' } }
          : { tool, trials: { v1: trial, v1Exact: trial, v2: trial }, types: { v1: types, v2: types } },
    );
    // Lines without their measured cells.
    const shape = (text: string) =>
      text.split('\n').map((line) => `${line.split(' | ')[0]} ${line.split(' | ').length}`);
    expect(shape(written)).toEqual(shape(renderTables(outcomes)));
  });

  test('installs the versions that were tried', () => {
    const [, shown = ''] = /^npm install (.+)$/m.exec(guide) ?? [];
    const { packages = {} } = TOOLS.find(({ name }) => name.includes('openapi-fetch')) ?? {};
    const installed = shown.split(' ').map((text) => text.split(/@(?=\d)/));
    expect(installed.length).toBeGreaterThan(1);
    expect(packages).toMatchObject(Object.fromEntries(installed));
  });

  test('shows the programs that the tools are run with', () => {
    expect(readGuideFiles()['exact-fetch.ts']).toContain('export const exactFetch');
    expect(readGuideFiles()['shop.ts']).toContain("from 'openapi-fetch'");
  });
});

describe('the tables', () => {
  const CLIENT: ClientTool = {
    name: 'a + b (two)',
    kind: 'client',
    packages: { a: '1.0.0', b: '2.0.0' },
    program: 'a.ts',
    options: 'o',
  };
  const VALIDATOR: ValidatorTool = {
    name: 'v',
    kind: 'validator',
    packages: { v: '3.0.0' },
    judge: () => ['v'],
    options: 'p',
  };
  const worked = { type: 'worked', seesLimits: true } as const;

  test('say what became of the order that was meant, what fails and why, and what does not fit', () => {
    const trials = {
      v1: { ...worked, ids: { type: 'another-order' } },
      v1Exact: { type: 'failed', reason: 'it\n| broke' },
      v2: { ...worked, ids: { type: 'refused', reason: '422' } },
    } as const;
    const types = { v1: { idsFit: true, codesAreClosed: true }, v2: { idsFit: false, codesAreClosed: false } };
    expect(
      renderTables([
        { tool: CLIENT, trials, types },
        { tool: VALIDATOR, complaints: { v1: '', v2: '2 errors' } },
      ]),
    ).toBe(
      `| Client, generator, proxy | v1 | v1 with options | v2 | Error codes | Limits |
| --- | --- | --- | --- | --- | --- |
| a 1.0.0 + b 2.0.0 (two) | **cancels another order** | fails: it broke | refuses: 422, after a cast | \`string\` | seen |

| Validator | v1 | v2 |
| --- | --- | --- |
| v 3.0.0 | clean | 2 errors |

| Tool | Options |
| --- | --- |
| a + b (two) | o |
| v | p |`,
    );
  });

  test('take the place of those before, between the marks alone', () => {
    const once = replaceTables(guide, 'other tables');
    expect(once).not.toContain('Validator |');
    expect(replaceTables(once, written)).toBe(guide);
    expect(() => replaceTables('no marks', written)).toThrow(/must hold/);
  });
});

describe('a trial', () => {
  const orders = { small: 1n, large: 3n, neighbour: 2n, quantities: { small: 10, large: 11 } };
  const call = {
    remaining: '5',
    small: { status: 204 },
    again: { status: 409, code: 'order_already_cancelled' },
    large: { status: 204 },
  };
  const judge = (cancelled: readonly bigint[], changes: object = {}) =>
    judgeCalls({ stateOf: async (id) => (cancelled.includes(id) ? 'cancelled' : 'pending') }, orders, {
      ...call,
      ...changes,
    });

  test('is judged by what the service has, not by the response that the tool got', async () => {
    expect(await judge([1n, 3n])).toEqual({ type: 'worked', ids: { type: 'exact' }, seesLimits: true });
    expect(await judge([1n, 2n])).toMatchObject({ ids: { type: 'another-order' } });
    expect(await judge([1n, 2n, 3n])).toMatchObject({ ids: { type: 'another-order' } });
    expect(await judge([1n], { large: { status: 404, code: 'order_not_found' } })).toMatchObject({
      ids: { type: 'refused', reason: '404 order_not_found' },
    });
  });

  test('fails where a small id is not cancelled, or the second time is no conflict with its code', async () => {
    expect(await judge([])).toEqual({ type: 'failed', reason: 'cancelling gave 204, and the order is pending' });
    expect(await judge([1n, 3n], { again: { status: 409 } })).toEqual({
      type: 'failed',
      reason: 'cancelling twice gave 409 undefined',
    });
    expect(await judgeCalls({ stateOf: async () => 'pending' }, orders, { failed: 'no list' })).toEqual({
      type: 'failed',
      reason: 'no list',
    });
  });

  test('sees no limits where the header is missing', async () => {
    expect(await judge([1n, 3n], { remaining: null })).toMatchObject({ seesLimits: false });
  });
});

test.each(TOOLS.filter((tool) => tool.kind !== 'validator'))('$name has its program', ({ program }) => {
  expect(existsSync(join(import.meta.dirname, '../programs', program))).toBe(true);
});
