import type { ApiKey, ApiKeyId } from '@petstore/domain';
import { expect, test } from 'vitest';
import { renderKeyTable } from '../src/actions/key-table.ts';
import { describeTime } from '../src/relative-time.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const inMs = (ms: number) => new Date(NOW.getTime() + ms);
const HOUR_MS = 3_600_000;

const key = (facts: Partial<ApiKey>): ApiKey => ({
  id: 'abcdEFGH' as ApiKeyId, // as a generated one
  name: '',
  kind: 'external',
  plan: { name: 'free' },
  createdAt: NOW,
  ...facts,
});

const KEYS = [
  key({
    name: 'a till in the shop at the corner of the market square, beside the fountain',
    lastUsedAt: inMs(-3 * HOUR_MS),
  }),
  key({ kind: 'internal', plan: { name: 'business' }, expiresAt: inMs(30.5 * 24 * HOUR_MS) }),
  key({
    plan: { name: 'enterprise', limits: { perMinute: 5_000, perDay: 1_000_000 } },
    revokedAt: NOW,
  }),
  key({ expiresAt: inMs(-1) }),
];

test('a table of keys fits the terminal, by shortened names and without the limits', () => {
  expect(
    renderKeyTable(KEYS, NOW, 100),
  ).toBe(`ID        NAME                      PLAN                MINUTE        DAY  STATUS          LAST USED
abcdEFGH  a till in the shop at t…  free                    60      1,000  active          3h ago
abcdEFGH  -                         business, internal   1,000    100,000  expires in 31d  -
abcdEFGH  -                         enterprise           5,000  1,000,000  revoked         -
abcdEFGH  -                         free                    60      1,000  expired         -
`);
  for (const columns of [80, 90, 100, 140]) {
    const lines = renderKeyTable(KEYS, NOW, columns).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
  expect(renderKeyTable(KEYS, NOW, 200)).toContain('beside the fountain');
});

test.each([
  [-499, 'now'],
  [-59_000, '59s ago'],
  [-59_999, '1m ago'],
  [-HOUR_MS, '1h ago'],
  [26 * HOUR_MS, 'in 1d'],
  [72 * HOUR_MS - 5_000, 'in 3d'],
])('%i ms from now is %s', (ms, text) => {
  expect(describeTime(inMs(ms), NOW)).toBe(text);
});
