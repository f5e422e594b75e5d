import { PATIENTLY } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { addressSubject, networkOf, type TrustedProxies } from '../../src/http/address.ts';
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

test('what cannot be read counts as the proxy’s, whatever it is', async () => {
  await using app = await startTestApp({ trustedProxies: true });
  const remainingOf = async (forwarded: string) => {
    const response = await app.fetch('/v1/pets/1', { key: null, headers: { 'x-forwarded-for': forwarded } });
    return response.headers.get('x-ratelimit-remaining');
  };
  expect(await remainingOf('unknown')).toBe('599');
  expect(await remainingOf('x-1')).toBe('598');
  expect(await remainingOf('x-2')).toBe('597');
  expect(await remainingOf('203.0.113.7:1')).toBe('599');
  expect(await remainingOf('203.0.113.7:2')).toBe('598');
});

test('an address may send 600 requests a minute, and has no day', () => {
  expect(addressSubject('192.0.2.1')).toEqual({ name: 'address:192.0.2.1', perMinute: 600, perDay: undefined });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::5:6:7:8', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['1::2:3:4:5:192.0.2.1', '1:0:2:3::/64'],
])('%s is counted as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
