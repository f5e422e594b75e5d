import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hideCredentials } from '../src/operations/logger.ts';

const KEY = 'pso_live_AbCdEf12_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef';

test.each([
  ['a key in a message', `invalid key ${KEY}`, 'invalid key pso_live_AbCdEf12_***'],
  [
    'a key in a URL',
    `"url":"/v1/store/orders?key=${KEY}&x=1"`,
    '"url":"/v1/store/orders?key=pso_live_AbCdEf12_***&x=1"',
  ],
  ['two keys', `${KEY} ${KEY}`, 'pso_live_AbCdEf12_*** pso_live_AbCdEf12_***'],
  ['a bearer token', '"authorization":"Bearer abc.def-_~+/=="', '"authorization":"***"'],
  ['a bearer token in words', 'got bearer  abc.def, refused', 'got bearer ***, refused'],
  ['basic credentials', '{"Authorization":"Basic dXNlcjpwYXNz"}', '{"Authorization":"***"}'],
  ['an odd header', '"authorization":"say \\"x\\" y","next":1', '"authorization":"***","next":1'],
  ['a password in a URL', 'connect to postgres://user:p%40ss@db:5432/x', 'connect to postgres://user:***@db:5432/x'],
  [
    'nothing at all',
    '{"level":"info","msg":"listening on http://127.0.0.1:3000"}',
    '{"level":"info","msg":"listening on http://127.0.0.1:3000"}',
  ],
])('%s', (_, line, expected) => {
  expect(hideCredentials(line)).toBe(expected);
});

test.each(['json', 'pretty'] as const)('whatever is logged in the %s format goes through that', async (format) => {
  const logger = new URL('../src/operations/logger.ts', import.meta.url).href;
  const program = `
    const { createLogger } = await import(${JSON.stringify(logger)});
    const logger = await createLogger({ level: 'info', format: ${JSON.stringify(format)} });
    logger.info({ url: '/v1/${KEY}', headers: { authorization: 'Bearer hunter2' } }, 'the key was ${KEY}');
    logger.error({ err: new Error('failed', { cause: new Error('because of ${KEY}') }) });`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout.match(/pso_live_AbCdEf12_\*\*\*/g)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout).not.toContain(KEY);
  expect(stdout).not.toContain('hunter2');
});
