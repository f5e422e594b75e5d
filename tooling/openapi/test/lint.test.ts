import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { documentFiles, readDocument } from '../src/documents.ts';
import { judge, lintDocument } from '../src/lint.ts';
import { WAIVERS } from '../src/waivers.ts';

const folder = mkdtempSync(join(tmpdir(), 'lint-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What is left to mend in a committed document after an edit. */
async function openAfter(edit: (text: string) => string): Promise<string[]> {
  const [committed = ''] = documentFiles();
  const file = join(folder, 'openapi.json');
  writeFileSync(file, edit(JSON.stringify(readDocument(committed))));
  return judge(await lintDocument(file), WAIVERS).open.map(({ rule }) => rule);
}

describe('the linters', () => {
  test('have nothing against what is committed', async () => {
    expect(await openAfter((text) => text)).toEqual([]);
  });

  test.each([
    ['security-defined', (text: string) => text.replace('"security":[{"bearerAuth":[]}]', '"security":[{"other":[]}]')],
    ['info-license', (text: string) => text.replace(/"license":\{.*?\},/, '')],
    ['owasp:api8:2023-no-server-http', (text: string) => text.replaceAll('"https://api.', '"http://api.')],
    ['owasp:api2:2023-no-http-basic', (text: string) => text.replace('"scheme":"bearer"', '"scheme":"basic"')],
    ['oas3-valid-media-example', (text: string) => text.replace('"value":{"id":1,"name":"Ada"}', '"value":{"id":"1"}')],
  ])('find %s', async (rule, edit) => {
    expect(await openAfter(edit)).toContain(rule);
  });
});

describe('a waiver', () => {
  const finding = { rule: 'a-rule', at: 'paths/one', message: 'Not so.' };

  test('is for its own rule and place', () => {
    const reason = 'Because.';
    const judged = (rule: string, at: RegExp) => judge([finding], [{ rule, at, reason }]).open;
    expect(judged('a-rule', /one$/)).toEqual([]);
    expect(judged('another', /one$/)).toEqual([finding]);
    expect(judged('a-rule', /two$/)).toEqual([finding]);
  });

  test('that nothing needs is reported', () => {
    const waiver = { rule: 'a-rule', at: /two$/, reason: 'Because.' };
    expect(judge([finding], [waiver]).needless).toEqual([waiver]);
    expect(judge([{ ...finding, at: 'two' }], [waiver]).needless).toEqual([]);
  });

  test('has a reason', () => {
    for (const { rule, reason } of WAIVERS) expect(reason, rule).toMatch(/^[A-Z].{15,}\.$/);
  });
});
