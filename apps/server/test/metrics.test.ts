import { describe, expect, test } from 'vitest';
import { Metrics } from '../src/operations/metrics.ts';

const createMetrics = () => new Metrics();

const linesOf = async ({ registry }: Metrics): Promise<readonly string[]> => (await registry.metrics()).split('\n');

test('requests are counted into cumulative buckets, by operation and status', async () => {
  const metrics = createMetrics();
  for (const seconds of [0.001, 0.002, 0.3, 60]) metrics.observeRequest('listOrders', 200, seconds);
  metrics.observeRequest('cancelOrder', 404, 0.004);
  const lines = await linesOf(metrics);
  const bucket = (le: string) =>
    lines.find((line) => line.includes(`le="${le}",operation="listOrders"`))?.split(' ')[1];
  expect([bucket('0.001'), bucket('0.0025'), bucket('0.25'), bucket('0.5'), bucket('10'), bucket('+Inf')]).toEqual([
    '1',
    '2',
    '2',
    '3',
    '3',
    '4',
  ]);
  expect(lines).toContain('petstore_http_request_duration_seconds_sum{operation="listOrders",status="200"} 60.303');
  expect(lines).toContain('petstore_http_request_duration_seconds_count{operation="cancelOrder",status="404"} 1');
});

describe('the use of a deprecated operation', () => {
  const usesIn = async (metrics: Metrics) =>
    (await linesOf(metrics)).filter((line) => line.startsWith('petstore_deprecated_requests_total'));

  test('is counted by key, and separately without a key', async () => {
    const metrics = createMetrics();
    for (const keyId of ['aaaaaaaa', 'bbbbbbbb', 'aaaaaaaa', undefined]) {
      metrics.observeDeprecatedUse('getPetById', keyId);
    }
    expect(await usesIn(metrics)).toEqual([
      'petstore_deprecated_requests_total{operation="getPetById",key="aaaaaaaa"} 2',
      'petstore_deprecated_requests_total{operation="getPetById",key="bbbbbbbb"} 1',
      'petstore_deprecated_requests_total{operation="getPetById",key=""} 1',
    ]);
  });

  test('makes no more series than 1,000 keys, one without a key, and one for all other keys', async () => {
    const metrics = createMetrics();
    for (let key = 0; key < 1_500; key++) metrics.observeDeprecatedUse('getPetById', String(key).padStart(8, '0'));
    metrics.observeDeprecatedUse('getPetById', '00000000');
    metrics.observeDeprecatedUse('getPetById');
    const lines = await usesIn(metrics);
    expect(lines).toHaveLength(1_002);
    expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="00000000"} 2');
    expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key=""} 1');
    expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="other"} 500');
  });
});
