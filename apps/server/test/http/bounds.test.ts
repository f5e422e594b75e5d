import { expect, test } from 'vitest';
import { expectError } from './support/expect-error.ts';
import { sendRaw } from './support/raw-http.ts';
import { startTestApp } from './support/test-app.ts';

test('every connection has time limits by default', async () => {
  await using app = await startTestApp();
  const { headersTimeout, requestTimeout, keepAliveTimeout } = app.app.server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout }).toEqual({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 125_000,
  });
});

test('input that the parser refuses counts for its address: 600 a minute, and then requests without a key are refused', async () => {
  await using app = await startTestApp();
  const send = async (text: string, localAddress: string) => {
    const [response] = await sendRaw(text, { port: app.port, localAddress });
    return response ?? expect.fail('no response');
  };
  const REFUSED = [
    ['invalid_request', 'HELLO\r\n\r\n'],
    ['headers_too_large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`],
  ] as const;
  const KEYLESS = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n';
  for (let round = 0; round < 300; round++) {
    for (const [i, [code, text]] of REFUSED.entries()) {
      const { headers } = await expectError(await send(text, '127.0.0.9'), code);
      expect(headers['x-ratelimit-remaining']).toBe(`${599 - round * 2 - i}`);
    }
  }
  await expectError(await send(KEYLESS, '127.0.0.9'), 'rate_limit_exceeded');
  await expectError(await send(KEYLESS, '127.0.0.10'), 'missing_api_key');
});
