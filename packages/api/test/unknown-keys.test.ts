import type { ApiKeyStore } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { ApiError, createAuthenticator } from '../src/index.ts';
import { idOf, newKeyText, openTestAuthenticator } from './test-authenticator.ts';

describe('a key', () => {
  test('that was tried before it was made opens within a second', async () => {
    const fixture = openTestAuthenticator();
    const text = newKeyText();
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    fixture.createKey({}, text);
    fixture.clock.advance(999);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.lookUps).toHaveLength(1);
    fixture.clock.advance(1);
    expect(await fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('that was tried before it was created is accepted at once after a notification', async () => {
    const fixture = openTestAuthenticator();
    const text = newKeyText();
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    fixture.createKey({}, text);
    fixture.forget(idOf(text));
    expect(await fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('that is unknown is remembered among 5,000 at most, and looked up again when as many came after it', async () => {
    const fixture = openTestAuthenticator();
    const headers = Array.from({ length: 5_001 }, () => `Bearer ${newKeyText()}`);
    const [first, ...others] = headers;
    const authenticate = (header: string | undefined) => fixture.authenticate(header);
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
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const apiKeys: ApiKeyStore = {
      findSecret(hash) {
        if (!isHung) return fixture.apiKeys.findSecret(hash);
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
    const waiting = Array.from({ length: 512 }, () => lookUp(newKeyText()).lookUp());
    await expect(lookUp(newKeyText()).lookUp()).rejects.toMatchObject({ errorCode: 'overloaded' });
    await expect(lookUp(newKeyText()).lookUp()).rejects.toBeInstanceOf(ApiError);
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
    expect(await lookUp(newKeyText()).lookUp()).toEqual({ type: 'invalid' });
  });
});
