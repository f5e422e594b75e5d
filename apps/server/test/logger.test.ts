import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hideCredentials } from '../src/operations/hide-credentials.ts';

const KEY = 'pso_live_AbCdEf12_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef';

test.each([
  ['a key in a message', `invalid key ${KEY}`, 'invalid key pso_live_AbCdEf12_***'],
  [
    'a key in a URL',
    `"url":"/v1/store/orders?key=${KEY}&x=1"`,
    '"url":"/v1/store/orders?key=pso_live_AbCdEf12_***&x=1"',
  ],
  [
    'a percent-encoded key in a URL',
    '?k=pso%5Flive%5FAbCdEf12%5F0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef&x',
    '?k=pso_live_AbCdEf12_***&x',
  ],
  [
    'a key of which all is encoded',
    [...KEY].map((c) => `%${c.charCodeAt(0).toString(16)}`).join(''),
    'pso_live_AbCdEf12_***',
  ],
  ['a key that is encoded twice', KEY.replaceAll('_', '%255f'), 'pso_live_AbCdEf12_***'],
  ['an encoded text that is no key', `"${'%22%5F'.repeat(20)}"`, `"${'%22%5F'.repeat(20)}"`],
  ['two keys', `${KEY} ${KEY}`, 'pso_live_AbCdEf12_*** pso_live_AbCdEf12_***'],
  ['a bearer token', '"authorization":"Bearer abc.def-_~+/=="', '"authorization":"***"'],
  ['a bearer token in words', 'got bearer  abc.def, refused', 'got bearer ***, refused'],
  ['basic credentials', '{"Authorization":"Basic dXNlcjpwYXNz"}', '{"Authorization":"***"}'],
  ['an odd header', '"authorization":"say \\"x\\" y","next":1', '"authorization":"***","next":1'],
  ['a bearer token in a query', '?authorization=Bearer%20abc.def&x=1', '?authorization=Bearer ***&x=1'],
  ['a bearer token in a form', 'authorization=bearer++abc', 'authorization=bearer ***'],
  ['a password without a user', 'rediss://:s3cret@cache:6379/0', 'rediss://:***@cache:6379/0'],
  ['a password in a URL behind other letters', '7redis://user:s3cret@cache', '7redis://user:***@cache'],
  ['a password in a URL', 'connect to postgres://user:p%40ss@db:5432/x', 'connect to postgres://user:***@db:5432/x'],
  [
    'nothing at all',
    '{"level":"info","msg":"listening on http://127.0.0.1:3000"}',
    '{"level":"info","msg":"listening on http://127.0.0.1:3000"}',
  ],
])('%s', (_, line, expected) => {
  expect(hideCredentials(line)).toBe(expected);
});

/** Far more than a search takes that is linear in the length. */
const TIMEOUT_MS = 30_000;

test('the search for credentials is fast for long lines of any kind', { timeout: 2 * TIMEOUT_MS }, async () => {
  const module = new URL('../src/operations/hide-credentials.ts', import.meta.url).href;
  const program = `
    const { hideCredentials } = await import(${JSON.stringify(module)});
    const lines = [
      'a'.repeat(1e6),
      'bearer' + ' '.repeat(1e6) + '"',
      'bearer' + '%20'.repeat(3e5) + '"',
      'bearer basic '.repeat(1e5),
      '%25'.repeat(3e5),
      '%' + '25'.repeat(5e5),
      'a://'.repeat(3e5),
      'a://a' + ':'.repeat(1e6),
      '"authorization":"' + '\\\\'.repeat(5e5),
      '"authorization"' + ' '.repeat(1e6),
    ];
    console.log(lines.filter((line) => hideCredentials(line).length > 0).length);`;
  // In a process of its own, because a search for a match cannot be interrupted.
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    timeout: TIMEOUT_MS,
  });
  expect(Number((await run).stdout)).toBe(10);
});

test.each(['json', 'pretty'] as const)('everything that is logged in the %s format is cleaned', async (format) => {
  const module = new URL('../src/operations/logger.ts', import.meta.url).href;
  const program = `
    const { createLogger } = await import(${JSON.stringify(module)});
    const logger = await createLogger({ logLevel: 'info', logFormat: ${JSON.stringify(format)} });
    logger.info({ url: '/v1/${KEY}', headers: { authorization: 'Bearer hunter2' } }, 'the key was ${KEY}');
    logger.error({ err: new Error('failed', { cause: new Error('because of ${KEY}') }) });`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout.match(/pso_live_AbCdEf12_\*\*\*/g)?.length).toBeGreaterThanOrEqual(3);
  expect(stdout).not.toContain(KEY);
  expect(stdout).not.toContain('hunter2');
});

test('what libraries write to the console, and warnings of the process, are lines of the log', async () => {
  const module = new URL('../src/operations/logger.ts', import.meta.url).href;
  const program = `
    const { createLogger, logLibraryOutput } = await import(${JSON.stringify(module)});
    logLibraryOutput(await createLogger({ logLevel: 'info', logFormat: 'json' }));
    console.warn('Skipping the %s check', 'ready', '${KEY}');
    console.error(new Error('failed'));
    console.log('for information');
    process.emitWarning('SECURITY WARNING: about sslmode', 'SecurityWarning');`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stderr).toBe('');
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { level: 'warn', msg: 'Skipping the ready check pso_live_AbCdEf12_***' },
    { level: 'warn', msg: expect.stringContaining('Error: failed') },
    { level: 'info', msg: 'for information' },
    { level: 'warn', warning: 'SecurityWarning', msg: 'SECURITY WARNING: about sslmode' },
  ]);
});
