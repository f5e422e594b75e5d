import { type ApiKeyStore, type PlanName, StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { ApiError, createAuthenticator } from '../src/index.ts';
import { idOf, newKeyText, openTestAuthenticator } from './test-authenticator.ts';

describe('the Authorization header', () => {
  const fixture = openTestAuthenticator();

  test.each([undefined, '', 'Bearer', 'Basic dXNlcjpwdw==', 'Bearerpso_live_x'])(
    'holds no bearer token: %j is missing',
    (header) => {
      expect(fixture.authenticate(header)).toEqual({ type: 'missing' });
    },
  );

  test('is read in any case and with several blanks, to the same key', async () => {
    const { id, text } = fixture.createKey();
    const lookUpsBefore = fixture.lookUps.length;
    for (const header of [`Bearer ${text}`, `bearer ${text}`, `BEARER   ${text}`, `bEaReR \t ${text}`]) {
      expect(await fixture.authenticate(header)).toMatchObject({
        type: 'authenticated',
        principal: { keyId: id },
      });
    }
    expect(fixture.lookUps).toHaveLength(lookUpsBefore + 1);
  });

  test('with a bare key counts as missing, even if the key is good', async () => {
    const { text } = fixture.createKey();
    expect(fixture.authenticate(text)).toEqual({ type: 'missing' });
  });

  test('with a typo in the key is refused without a look-up', async () => {
    const { text } = fixture.createKey();
    const lookUpsBefore = fixture.lookUps.length;
    const typo = text.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    for (const token of [typo, `${text}x`, `${text} ${text}`, 'secret', text.toLowerCase()]) {
      expect(fixture.authenticate(`Bearer ${token}`)).toEqual({ type: 'invalid' });
    }
    expect(fixture.lookUps).toHaveLength(lookUpsBefore);
  });
});

describe('a key', () => {
  test.each([
    ['external', false],
    ['external', true],
    ['internal', false],
    ['internal', true],
  ] as const)('speaks for a principal of its kind: %s, read-only %s', async (kind, readOnly) => {
    const fixture = openTestAuthenticator();
    const createdAt = fixture.clock();
    const { id, text } = fixture.createKey({ kind, readOnly });
    const principal = { type: 'api-key', keyId: id, kind, readOnly, plan: { name: 'free' }, name: 'test', createdAt };
    const authenticated = { type: 'authenticated', principal };
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual(authenticated);
    expect(await fixture.authenticate(`Bearer ${text}`), 'from the cache').toEqual(authenticated);
  });

  test('that is unknown, revoked or expired is refused alike', async () => {
    const fixture = openTestAuthenticator();
    const revoked = fixture.createKey();
    fixture.changeKey(revoked.id, { revokedAt: fixture.clock() });
    const expired = fixture.createKey({ expiresAt: fixture.clock() });
    for (const text of [newKeyText(), revoked.text, expired.text]) {
      expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    }
  });

  test('is looked up once for any number of requests at a time', async () => {
    const fixture = openTestAuthenticator();
    const { text } = fixture.createKey();
    const answers = await Promise.all(Array.from({ length: 50 }, () => fixture.authenticate(`Bearer ${text}`)));
    expect(new Set(answers.map(({ type }) => type))).toEqual(new Set(['authenticated']));
    expect(fixture.lookUps).toHaveLength(1);
  });

  test('is known for 5 seconds, without a promise, and looked up again then', async () => {
    const fixture = openTestAuthenticator();
    const { text } = fixture.createKey();
    await fixture.authenticate(`Bearer ${text}`);
    fixture.letPass(4_999);
    expect(fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(1);
    fixture.letPass(1);
    expect(fixture.authenticate(`Bearer ${text}`)).toBeInstanceOf(Promise);
    expect(fixture.lookUps).toHaveLength(2);
  });

  test('expires to the millisecond, while it is known', async () => {
    const fixture = openTestAuthenticator();
    const { text } = fixture.createKey({ expiresAt: new Date(fixture.clock().getTime() + 1_000) });
    await fixture.authenticate(`Bearer ${text}`);
    fixture.letPass(999);
    expect(fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
    fixture.letPass(1);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('keeps both secrets while a rotation overlaps, and says until when each is valid', async () => {
    const fixture = openTestAuthenticator();
    const inMs = (ms: number) => new Date(fixture.clock().getTime() + ms);
    const [overlapEnds, expiresAt] = [inMs(3_000), inMs(60_000)];
    const { id, text } = fixture.createKey({ expiresAt });
    const newText = fixture.rotateKey(id, text, overlapEnds);
    for (const [good, end] of [
      [text, overlapEnds],
      [newText, expiresAt],
    ] as const) {
      const principal = { keyId: id, expiresAt: end };
      expect(await fixture.authenticate(`Bearer ${good}`)).toMatchObject({ principal });
    }
    fixture.letPass(3_000);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.authenticate(`Bearer ${newText}`)).toMatchObject({ type: 'authenticated' });
  });
});

describe('a change of plan', () => {
  test('is in force within 5 seconds, or at once if it is announced', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const authenticate = () => fixture.authenticate(`Bearer ${text}`);
    const planned = (name: PlanName) => ({ type: 'authenticated', principal: { plan: { name } } });
    expect(await authenticate()).toMatchObject(planned('free'));
    fixture.changeKey(id, { plan: { name: 'business' } });
    expect(authenticate()).toMatchObject(planned('free'));
    fixture.letPass(5_000);
    expect(await authenticate()).toMatchObject(planned('business'));
    fixture.changeKey(id, { plan: { name: 'pro' } });
    fixture.forget(id);
    expect(await authenticate()).toMatchObject(planned('pro'));
  });
});

describe('a revocation', () => {
  test('holds within 5 seconds without a notification', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    await fixture.authenticate(`Bearer ${text}`);
    fixture.changeKey(id, { revokedAt: fixture.clock() });
    fixture.letPass(5_000);
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('holds within 5 seconds without a notification, however long the look-up before it took', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const before = fixture.authenticate(`Bearer ${text}`);
    fixture.changeKey(id, { revokedAt: fixture.clock() });
    fixture.letPass(2_400);
    expect(await before).toMatchObject({ type: 'authenticated' });
    fixture.letPass(2_600);
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('holds from the next request on after a notification, and no other key is forgotten', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const other = fixture.createKey();
    await fixture.authenticate(`Bearer ${text}`);
    await fixture.authenticate(`Bearer ${other.text}`);
    fixture.changeKey(id, { revokedAt: fixture.clock() });
    fixture.forget(id);
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.authenticate(`Bearer ${other.text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('holds from the next request on although a look-up that read before it is under way', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const before = fixture.authenticate(`Bearer ${text}`);
    fixture.changeKey(id, { revokedAt: fixture.clock() });
    fixture.forget(id);
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(await before).toMatchObject({ type: 'authenticated' });
  });

  test('is not undone by a look-up that had begun before', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const before = fixture.authenticate(`Bearer ${text}`);
    fixture.forget(id);
    expect(await before).toMatchObject({ type: 'authenticated' });
    expect(fixture.authenticate(`Bearer ${text}`)).toBeInstanceOf(Promise);
    expect(fixture.lookUps).toHaveLength(2);
  });
});

describe('the last use of a key', () => {
  test('is written at most once a minute, and no request waits for it', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const use = async () => {
      expect(await fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
      await Promise.all(fixture.marks);
    };
    const firstUse = fixture.clock();
    await use();
    expect(fixture.lastUseOf(id)).toEqual(firstUse);
    for (let seconds = 1; seconds < 60; seconds++) {
      fixture.letPass(1_000);
      await use();
    }
    expect(fixture.marks).toHaveLength(1);
    fixture.letPass(1_000);
    await use();
    expect(fixture.marks).toHaveLength(2);
    expect(fixture.lastUseOf(id)).toEqual(fixture.clock());
  });
});

describe('while PostgreSQL is unavailable', () => {
  test('a known key stays good for 60 s past its 5 s, any other is unavailable, and all recovers', async () => {
    const fixture = openTestAuthenticator();
    const { clock, store } = fixture;
    const { id, text } = fixture.createKey();
    const other = fixture.createKey();
    const header = `Bearer ${text}`;
    await fixture.authenticate(header);
    store.isAway = true;

    fixture.letPass(5_000);
    expect(await fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    await expect(fixture.authenticate(`Bearer ${other.text}`)).rejects.toBeInstanceOf(StorageUnavailableError);
    // From here on no request waits: the store is asked once a second, beside the requests.
    const lookUpsBefore = fixture.lookUps.length;
    for (let i = 0; i < 100; i++) expect(fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(lookUpsBefore);
    fixture.letPass(59_999);
    expect(fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(lookUpsBefore + 1);
    await Promise.all(fixture.lookUps);
    fixture.letPass(1);
    await expect(fixture.authenticate(header)).rejects.toBeInstanceOf(StorageUnavailableError);

    store.isAway = false;
    expect(await fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(await fixture.authenticate(`Bearer ${other.text}`)).toMatchObject({ type: 'authenticated' });
    expect(fixture.backgroundErrors).toEqual([]);

    fixture.changeKey(id, { revokedAt: clock() });
    fixture.letPass(5_000);
    expect(await fixture.authenticate(header)).toEqual({ type: 'invalid' });
  });

  test('a key that was forgotten stays so', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    await fixture.authenticate(`Bearer ${text}`);
    fixture.store.isAway = true;
    fixture.forget(id);
    await expect(fixture.authenticate(`Bearer ${text}`)).rejects.toBeInstanceOf(StorageUnavailableError);
  });
});

describe('a key', () => {
  test('that was tried before it was made opens within a second', async () => {
    const fixture = openTestAuthenticator();
    const text = newKeyText();
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    fixture.createKey({}, text);
    fixture.letPass(999);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.lookUps).toHaveLength(1);
    fixture.letPass(1);
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
    const { clock, monotonicNowMs } = fixture;
    const authenticator = createAuthenticator({ apiKeys, clock, monotonicNowMs, onBackgroundError() {} });
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
    fixture.letPass(6_000);
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

describe('a change of the wall clock', () => {
  const HOUR_MS = 3_600_000;

  test('back delays no revocation', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    await fixture.authenticate(`Bearer ${text}`);
    fixture.changeKey(id, { revokedAt: fixture.clock() });
    fixture.clock.advance(-HOUR_MS);
    fixture.letPass(5_000);
    expect(await fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('back keeps no new key out that was tried before it was made', async () => {
    const fixture = openTestAuthenticator();
    const text = newKeyText();
    await fixture.authenticate(`Bearer ${text}`);
    fixture.createKey({}, text);
    fixture.clock.advance(-HOUR_MS);
    fixture.letPass(1_000);
    expect(await fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
  });

  test.each([
    ['forward', HOUR_MS],
    ['back', -HOUR_MS],
  ])('%s, while PostgreSQL is unavailable, ends no known key, and it is asked once a second', async (_, stepMs) => {
    const fixture = openTestAuthenticator();
    const { text } = fixture.createKey();
    await fixture.authenticate(`Bearer ${text}`);
    fixture.store.isAway = true;
    fixture.letPass(5_000);
    await fixture.authenticate(`Bearer ${text}`);
    fixture.clock.advance(stepMs);
    for (const lookUps of [2, 3]) {
      expect(fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
      expect(fixture.lookUps).toHaveLength(lookUps);
      fixture.letPass(1_000);
    }
  });

  test('forward expires a key at once, although it is cached', async () => {
    const fixture = openTestAuthenticator();
    const { text } = fixture.createKey({ expiresAt: new Date(fixture.clock().getTime() + HOUR_MS) });
    await fixture.authenticate(`Bearer ${text}`);
    fixture.clock.advance(HOUR_MS);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });
});
