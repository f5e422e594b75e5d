import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/documentation.ts';
import { startTestApp } from './support/test-app.ts';

interface Call {
  /** As its title says. */
  readonly status: number;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly [name: string, value: string][];
}

/** Reads the requests of a file in the form that editors run: a title, the method and URL, then headers. */
function readCalls(file: string, variables: Readonly<Record<string, string>>): readonly Call[] {
  const [head = '', ...parts] = readFileSync(join(ROOT, file), 'utf8').split(/^### /m);
  const declared = Array.from(head.matchAll(/^@(\w+) = /gm), ([, name]) => name);
  expect(declared).toEqual(Object.keys(variables));
  return parts.map((part) => {
    const text = part.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => variables[name] ?? expect.fail(`${name} is not set`));
    const [title = '', line = '', ...lines] = text.trimEnd().split('\n');
    const [, method = '', path = ''] = /^([A-Z]+) (\/\S+)$/.exec(line) ?? expect.fail(`no request: ${line}`);
    const headers = lines.map((header): [string, string] => {
      const [, name = '', value = ''] = /^([\w-]+): (.+)$/.exec(header) ?? expect.fail(`no header: ${header}`);
      return [name, value];
    });
    return { status: Number.parseInt(title, 10), method, path, headers };
  });
}

test('the calls of docs/petstore.http, one after the other, have the status that their titles say', async () => {
  await using app = await startTestApp({ orders: 3 });
  const calls = readCalls('docs/petstore.http', { service: '', key: app.key });
  const statuses: number[] = [];
  for (const { method, path, headers } of calls) {
    statuses.push((await app.fetch(path, { key: null, method, headers: Object.fromEntries(headers) })).status);
  }
  expect(statuses).toEqual(calls.map(({ status }) => status));
  expect(new Set(statuses)).toEqual(new Set([200, 204, 401, 404, 409]));
});
