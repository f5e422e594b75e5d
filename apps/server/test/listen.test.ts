import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { isLoopback, logFailedAccepts } from '../src/operations/listen.ts';

test.each(['127.0.0.1', '127.255.0.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
  'what listens on %s can be called from this machine alone',
  (host) => expect(isLoopback(host)).toBe(true),
);

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '::2',
  '::ffff:10.0.0.1',
  '127.1',
  'shop.example',
  'localhost.example',
])('what listens on %s may be called from elsewhere', (host) => expect(isLoopback(host)).toBe(false));

test('a connection that the system cannot give is logged, and ends nothing', () => {
  const server = createServer();
  const logged: unknown[] = [];
  logFailedAccepts(server, { warn: (...entry: readonly unknown[]) => void logged.push(entry) });
  const err = Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' });
  server.emit('error', err);
  expect(logged).toEqual([[{ err }, 'a connection could not be accepted']]);
});
