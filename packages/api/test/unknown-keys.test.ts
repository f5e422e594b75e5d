import { randomBytes } from 'node:crypto';
import { type ApiKeyStore, generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { ApiError, createAuthenticator } from '../src/index.ts';
import { openTestAuthenticator, unknownKeyText } from './test-authenticator.ts';

describe('a key', () => {
  test('that was tried before it was made opens within a second', async () => {
    await using fixture = await openTestAuthenticator();
    const id = generateApiKeyId(randomBytes);
    const text = generateApiKeyText('live', id, randomBytes);
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    await fixture.persistence.keyAdministration.createKey(
      { id, name: 'late', kind: 'external', plan: { name: 'pro' }, createdAt: fixture.clock() },
      hashApiKeyText(text),
    );
    fixture.clock.advance(999);
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.lookUps).toHaveLength(1);
    fixture.clock.advance(1);
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('that was tried before it was created is accepted at once after a notification', async () => {
    await using fixture = await openTestAuthenticator();
    const id = generateApiKeyId(randomBytes);
    const text = generateApiKeyText('live', id, randomBytes);
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    await fixture.persistence.keyAdministration.createKey(
      { id, name: 'notified', kind: 'external', plan: { name: 'pro' }, createdAt: fixture.clock() },
      hashApiKeyText(text),
    );
    fixture.authenticator.forget(id);
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('that is unknown is remembered among 5,000 at most, and looked up again when as many came after it', async () => {
    await using fixture = await openTestAuthenticator();
    const headers = Array.from({ length: 5_001 }, () => `Bearer ${unknownKeyText()}`);
    const [first, ...others] = headers;
    const authenticate = (header: string | undefined) => fixture.authenticator.authenticate(header);
    expect(await authenticate(first)).toEqual({ type: 'invalid' });
    while (fixture.lookUps.length < headers.length) {
      await Promise.all(others.slice(fixture.lookUps.length - 1, fixture.lookUps.length + 499).map(authenticate));
    }
    expect(fixture.lookUps).toHaveLength(5_001);
    for (const header of others) expect(authenticate(header)).toEqual({ type: 'invalid' }); // without a promise
    expect(await authenticate(first)).toEqual({ type: 'invalid' });
    expect(fixture.lookUps).toHaveLength(5_002);
  });
});

describe('unknown keys', () => {
  test('are looked up 512 at a time at most, and one that is known lately passes all the same', async () => {
    const answers: PromiseWithResolvers<undefined>[] = [];
    let isHung = false;
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    const apiKeys: ApiKeyStore = {
      findSecret(hash) {
        if (!isHung) return fixture.persistence.apiKeys.findSecret(hash);
        const answer = Promise.withResolvers<undefined>();
        answers.push(answer);
        return answer.promise;
      },
      markKeyUsed: async () => {},
    };
    const { clock } = fixture;
    const authenticator = createAuthenticator({ apiKeys, clock, onBackgroundError() {} });
    const lookUp = (key: string) => {
      const identity = authenticator.identify(`Bearer ${key}`);
      if (identity.type !== 'look-up') throw new Error('the store was not to be asked');
      return identity;
    };
    expect(lookUp(text).knownPrincipal).toBeUndefined();
    await lookUp(text).lookUp();
    isHung = true;
    const waiting = Array.from({ length: 512 }, () => lookUp(unknownKeyText()).lookUp());
    await expect(lookUp(unknownKeyText()).lookUp()).rejects.toMatchObject({ errorCode: 'overloaded' });
    await expect(lookUp(unknownKeyText()).lookUp()).rejects.toBeInstanceOf(ApiError);
    expect(answers).toHaveLength(512);
    clock.advance(6_000);
    expect(lookUp(text).knownPrincipal).toMatchObject({ keyId: id });
    const known = lookUp(text).lookUp();
    expect(answers).toHaveLength(513);
    for (const answer of answers) answer.resolve(undefined);
    expect(await Promise.all(waiting)).toEqual(Array(512).fill({ type: 'invalid' }));
    expect(await known).toEqual({ type: 'invalid' });
    // Their places are free again.
    isHung = false;
    expect(await lookUp(unknownKeyText()).lookUp()).toEqual({ type: 'invalid' });
  });
});
