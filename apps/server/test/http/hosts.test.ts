import { describe, expect, test } from 'vitest';
import { expectRateLimitHeaders } from './support/expect-error.ts';
import { sendOne } from './support/raw-http.ts';
import { useTestApp } from './support/test-app.ts';

const app = await useTestApp();
const PATHS = ['/v1/pets/1', '/v2/limits', '/trpc/pets.get', '/trpc/limits.current', '/docs'];

const ask = (path: string, host: string) =>
  sendOne(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${app.key}\r\n\r\n`, { port: app.port });

describe.each(PATHS)('%s', (path) => {
  test.each(['a:b@c', 'a@b', '@', '[', '[::1', 'x:99999', 'x:y', 'a b', 'a/b', 'a?b', 'a#b', 'a%', '1.2.3.256'])(
    'is 400 where Host is %s',
    async (host) => {
      const { status, body, headers } = await ask(path, host);
      expect([status, body]).toEqual([400, expect.stringContaining('"invalid_request"')]);
      if (path !== '/docs') expectRateLimitHeaders({ headers });
    },
  );

  test.each(['', 'x', 'x:', 'x:3000', 'a_b.example', '127.0.0.1:80', '[::1]:3000', 'xn--bcher-kva.example'])(
    'is served where Host is "%s"',
    async (host) => {
      const { status, body } = await ask(path, host);
      expect(body).not.toContain('Host');
      expect(status).toBeLessThan(500);
    },
  );
});

test('user information in an absolute target is malformed, too', async () => {
  for (const path of ['/v2/limits', '/trpc/pets.get', '/docs']) {
    expect((await ask(`http://a:b@c${path}`, 'c')).status).toBe(400);
  }
});
