import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder } from '@petstore/testing';
import openapiTS, { astToString } from 'openapi-typescript';
import { expect, test } from 'vitest';

test('a client that others generate knows the codes of each response, and no misspelt one compiles', async () => {
  using folder = createTemporaryFolder();
  for (const [name, file] of [
    ['v1', 'openapi.json'],
    ['v2', 'openapi.v2.json'],
  ] as const) {
    const types = astToString(await openapiTS(new URL(`../../../api/${file}`, import.meta.url)));
    mkdirSync(join(folder.path, name));
    writeFileSync(join(folder.path, name, 'document.ts'), types);
    const program = `
      import type { operations } from './document.ts';
      type Responses = operations['cancelOrder']['responses'];
      type ErrorOf<Status extends keyof Responses> =
        Responses[Status] extends { content: { 'application/json': infer Body } } ? Body : never;
      declare const conflict: ErrorOf<409>;
      const code: 'order_already_shipped' | 'order_already_cancelled' = conflict.code;
      // @ts-expect-error misspelt
      if (conflict.code === 'order_alredy_shipped') throw code;
      declare const error: ErrorOf<401 | 404 | 409 | 429>;
      if (error.code === 'order_not_found') { const found: ErrorOf<404> = error; }
      // @ts-expect-error of another operation
      if (error.code === 'pet_not_found') throw code;
    `;
    writeFileSync(join(folder.path, name, 'program.ts'), program);
    const options = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--allowImportingTsExtensions',
      '--types',
      '',
    ];
    const compile = spawnSync('tsc', [...options, join(folder.path, name, 'program.ts')], { encoding: 'utf8' });
    expect(compile.stdout).toBe('');
    expect(compile.status).toBe(0);
  }
});
