import { PATIENTLY } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import type { TrustedProxies } from '../../src/http/client-address.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const PEER = '127.0.0.1';

/** What the access log says of a request that was forwarded with this header. */
async function addressOf(app: TestApp, forwarded: string, requestId: string): Promise<unknown> {
  await app.fetch('/docs', { key: null, headers: { 'x-forwarded-for': forwarded, 'x-request-id': requestId } });
  const line = await vi.waitUntil(
    () => app.logLines.find((each) => each.msg === 'request completed' && each['requestId'] === requestId),
    PATIENTLY,
  );
  return line['clientAddress'];
}

describe.each<[TrustedProxies, readonly (readonly [forwarded: string, address: string])[]]>([
  [false, [['1.2.3.4', PEER]]],
  [0, [['1.2.3.4', PEER]]],
  [['192.0.2.1'], [['1.2.3.4', PEER]]],
  [2, [['9.9.9.9, 1.2.3.4, 5.6.7.8', '1.2.3.4']]],
  [
    1,
    [
      ['1.2.3.4, 5.6.7.8', '5.6.7.8'],
      ['1.2.3.4:51234, 5.6.7.8:9', '5.6.7.8'],
    ],
  ],
  [
    ['127.0.0.1', '10.0.0.0/8'],
    [
      ['1.2.3.4, 10.9.9.9', '1.2.3.4'],
      ['1.2.3.4:51234, 10.9.9.9:80', '1.2.3.4'],
      ['1.2.3.4, 5.6.7.8', '5.6.7.8'],
    ],
  ],
  [
    true,
    [
      ['1.2.3.4, 5.6.7.8', '1.2.3.4'],
      ['', PEER],
      ['unknown', PEER],
      ['_hidden', PEER],
      ['203.0.113.7:51234', '203.0.113.7'],
      ['"203.0.113.7:51234"', '203.0.113.7'],
      ['2001:db8::1', '2001:db8::1'],
      ['[2001:db8::1]', '2001:db8::1'],
      ['[2001:db8::1]:443', '2001:db8::1'],
      ['"[2001:db8::1]:443"', '2001:db8::1'],
      ['fe80::1%eth0', 'fe80::1'],
      ['[fe80::1%eth0]:443', 'fe80::1'],
      ['203.0.113.7:51234:1', PEER],
      ['203.0.113.7:', '203.0.113.7'],
      ["'203.0.113.7'", '203.0.113.7'],
      ['for=203.0.113.7', '203.0.113.7'],
      ['For="[2001:db8::1]:443"', '2001:db8::1'],
      ['[2001:db8::1]:', '2001:db8::1'],
      ['2001:0DB8:0:0::1', '2001:db8::1'],
      ['::ffff:203.0.113.7', '203.0.113.7'],
      ['[::FFFF:203.0.113.7]:443', '203.0.113.7'],
      ['::ffff:cb00:7107', '203.0.113.7'],
      ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
      [' , 203.0.113.7, ', '203.0.113.7'],
      ['203.0.113.7/32', PEER],
      ['203.0.113.007', PEER],
      ['203.0.113', PEER],
    ],
  ],
])('with %j trusted', (trustedProxies, cases) => {
  test('the address of the client is the one that the trusted proxies name', async () => {
    await using app = await startTestApp({ trustedProxies });
    for (const [i, [forwarded, address]] of cases.entries()) {
      expect.soft(await addressOf(app, forwarded, `case-${i}`), forwarded).toBe(address);
    }
  });
});

test('what cannot be read counts as the proxy’s, whatever it is, and is logged once', async () => {
  await using app = await startTestApp({ trustedProxies: true });
  const remainingOf = async (forwarded: string) => {
    const response = await app.fetch('/v1/pets/1', { key: null, headers: { 'x-forwarded-for': forwarded } });
    return response.headers.get('x-ratelimit-remaining');
  };
  expect(await remainingOf('unknown')).toBe('59');
  expect(await remainingOf('x-1')).toBe('58');
  expect(await remainingOf('x-2')).toBe('57');
  expect(await remainingOf('203.0.113.7:1')).toBe('59');
  expect(await remainingOf('203.0.113.7:2')).toBe('58');
  const warnings = app.logLines.filter(({ msg }) => msg.includes('X-Forwarded-For'));
  expect(warnings).toMatchObject([{ level: 40, entry: 'unknown', peer: PEER }]);
});

test.each<[TrustedProxies, Record<string, string>, readonly string[] | undefined]>([
  [1, { forwarded: 'for=203.0.113.7', 'x-real-ip': '203.0.113.7' }, ['forwarded', 'x-real-ip']],
  [['127.0.0.1'], { 'cf-connecting-ip': '203.0.113.7' }, ['cf-connecting-ip']],
  [1, { 'x-real-ip': '203.0.113.7', 'x-forwarded-for': '203.0.113.7' }, undefined],
  [1, {}, undefined],
  [false, { 'x-real-ip': '203.0.113.7' }, undefined],
  [['192.0.2.1'], { 'x-real-ip': '203.0.113.7' }, undefined],
])(
  'with %j trusted, a proxy that sends only headers that are not read is logged once: %j',
  async (trustedProxies, headers, named) => {
    await using app = await startTestApp({ trustedProxies });
    for (let i = 0; i < 2; i++) await app.fetch('/docs', { key: null, headers });
    const warnings = app.logLines.filter(({ level }) => level === 40);
    expect(warnings).toMatchObject(named === undefined ? [] : [{ headers: named, peer: PEER }]);
  },
);
