import { randomBytes } from 'node:crypto';
import { generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { openDoor, unknownKeyText } from './test-door.ts';

describe('a key', () => {
  test('that was tried before it was made opens within a second', async () => {
    await using door = await openDoor();
    const id = generateApiKeyId(randomBytes);
    const text = generateApiKeyText('live', id, randomBytes);
    expect(await door.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    await door.persistence.keyAdministration.createKey(
      { id, name: 'late', kind: 'external', plan: { name: 'pro' }, createdAt: door.clock() },
      hashApiKeyText(text),
    );
    door.clock.advance(999);
    expect(door.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(door.lookUps).toHaveLength(1);
    door.clock.advance(1);
    expect(await door.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('that was tried before it was made opens at once where that is told', async () => {
    await using door = await openDoor();
    const id = generateApiKeyId(randomBytes);
    const text = generateApiKeyText('live', id, randomBytes);
    expect(await door.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    await door.persistence.keyAdministration.createKey(
      { id, name: 'told', kind: 'external', plan: { name: 'pro' }, createdAt: door.clock() },
      hashApiKeyText(text),
    );
    door.authenticator.forget(id);
    expect(await door.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('that is unknown is remembered among 5,000 at most, and looked up again when as many came after it', async () => {
    await using door = await openDoor();
    const headers = Array.from({ length: 5_001 }, () => `Bearer ${unknownKeyText()}`);
    const [first, ...others] = headers;
    const authenticate = (header: string | undefined) => door.authenticator.authenticate(header);
    expect(await authenticate(first)).toEqual({ type: 'invalid' });
    await Promise.all(others.map(authenticate));
    expect(door.lookUps).toHaveLength(5_001);
    for (const header of others) expect(authenticate(header)).toEqual({ type: 'invalid' }); // without a promise
    expect(await authenticate(first)).toEqual({ type: 'invalid' });
    expect(door.lookUps).toHaveLength(5_002);
  });
});
