import type { ApiKeyId } from '@petstore/domain';
import { expect, test } from 'vitest';
import { apiKeySubject, canEverFit, clientAddressSubject } from '../src/index.ts';
import { apiKeyIdOf } from '../src/subject.ts';

const id = 'AbCd1234' as ApiKeyId; // never leaves the test

test('a key is kept under its id, with the limits of its plan', () => {
  expect(apiKeySubject(id, { perMinute: 60, perDay: 1_000 })).toEqual({
    type: 'api-key',
    storageKey: 'rl:key:AbCd1234',
    perMinute: 60,
    perDay: 1_000,
    refusalsMax: 250,
  });
  expect(apiKeySubject(id, { perMinute: 300, perDay: 10_000 }).refusalsMax).toBe(600);
  expect(apiKeyIdOf('rl:key:AbCd1234')).toBe(id);
});

test('an address may send 60 requests a minute, and has no day', () => {
  expect(clientAddressSubject('192.0.2.1')).toMatchObject({ type: 'client-address', perMinute: 60, perDay: undefined });
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
  expect(clientAddressSubject(address).storageKey).toBe(`rl:addr:${network}`);
});

test('a cost can fit when no limit is lower', () => {
  const subject = apiKeySubject(id, { perMinute: 60, perDay: 50 });
  expect(canEverFit(subject, 50)).toBe(true);
  expect(canEverFit(subject, 51)).toBe(false);
  expect(canEverFit(clientAddressSubject('192.0.2.1'), 60)).toBe(true);
  expect(canEverFit(clientAddressSubject('192.0.2.1'), 61)).toBe(false);
});
