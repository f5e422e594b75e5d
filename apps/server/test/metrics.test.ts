import type { ApiKeyId } from '@petstore/domain';
import { expect, test } from 'vitest';
import { Metrics } from '../src/operations/metrics.ts';

const idOf = (key: number) => String(key).padStart(8, '0') as ApiKeyId; // as generated ones

test('the use of a deprecated operation makes no more series than 1,000 keys, one without a key, and one for all others', async () => {
  const metrics = new Metrics({ commit: undefined, petsSunsetAt: new Date(0) });
  for (let key = 0; key < 1_500; key++) metrics.observeDeprecatedUse('getPetById', idOf(key));
  metrics.observeDeprecatedUse('getPetById', idOf(0));
  metrics.observeDeprecatedUse('getPetById');
  const text = await metrics.registry.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith('petstore_deprecated_requests_total'));
  expect(lines).toHaveLength(1_002);
  expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="00000000"} 2');
  expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key=""} 1');
  expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="other"} 500');
});
