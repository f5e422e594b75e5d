import { expect, test } from 'vitest';
import { type ApiKeyId, apiKeyIdOf, apiKeySubject } from '../src/index.ts';

test('a key is counted under its id, by the limits of its plan', () => {
  const id = 'AbCd1234' as ApiKeyId; // never leaves the test
  const subject = apiKeySubject(id, { name: 'free' });
  expect(subject).toEqual({ name: 'key:AbCd1234', perMinute: 60, perDay: 1_000 });
  expect(apiKeyIdOf(subject.name)).toBe(id);
});
