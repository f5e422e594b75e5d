import { type PlanName, StorageUnavailableError } from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { newKeyText, openTestAuthenticator } from './test-authenticator.ts';

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
    const { id, text } = fixture.createKey({ kind, readOnly });
    const principal = { type: 'api-key', keyId: id, kind, readOnly, plan: { name: 'free' } };
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
    fixture.clock.advance(4_999);
    expect(fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(1);
    fixture.clock.advance(1);
    expect(fixture.authenticate(`Bearer ${text}`)).toBeInstanceOf(Promise);
    expect(fixture.lookUps).toHaveLength(2);
  });

  test('expires to the millisecond, while it is known', async () => {
    const fixture = openTestAuthenticator();
    const { text } = fixture.createKey({ expiresAt: new Date(fixture.clock().getTime() + 1_000) });
    await fixture.authenticate(`Bearer ${text}`);
    fixture.clock.advance(999);
    expect(fixture.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
    fixture.clock.advance(1);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('keeps both secrets while a rotation overlaps', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const newText = fixture.rotateKey(id, text, new Date(fixture.clock().getTime() + 3_000));
    for (const good of [text, newText]) {
      expect(await fixture.authenticate(`Bearer ${good}`)).toMatchObject({ principal: { keyId: id } });
    }
    fixture.clock.advance(3_000);
    expect(fixture.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.authenticate(`Bearer ${newText}`)).toMatchObject({ type: 'authenticated' });
  });
});

describe('a change of plan', () => {
  test('is in force within 5 seconds, or at once if it is announced', async () => {
    const fixture = openTestAuthenticator();
    const { id, text } = fixture.createKey();
    const { clock } = fixture;
    const authenticate = () => fixture.authenticate(`Bearer ${text}`);
    const planned = (name: PlanName) => ({ type: 'authenticated', principal: { plan: { name } } });
    expect(await authenticate()).toMatchObject(planned('free'));
    fixture.changeKey(id, { plan: { name: 'business' } });
    expect(authenticate()).toMatchObject(planned('free'));
    clock.advance(5_000);
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
    fixture.clock.advance(5_000);
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
      fixture.clock.advance(1_000);
      await use();
    }
    expect(fixture.marks).toHaveLength(1);
    fixture.clock.advance(1_000);
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

    clock.advance(5_000);
    expect(await fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    await expect(fixture.authenticate(`Bearer ${other.text}`)).rejects.toBeInstanceOf(StorageUnavailableError);
    // From here on no request waits: the store is asked once a second, beside the requests.
    const lookUpsBefore = fixture.lookUps.length;
    for (let i = 0; i < 100; i++) expect(fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(lookUpsBefore);
    clock.advance(59_999);
    expect(fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(lookUpsBefore + 1);
    await Promise.all(fixture.lookUps);
    clock.advance(1);
    await expect(fixture.authenticate(header)).rejects.toBeInstanceOf(StorageUnavailableError);

    store.isAway = false;
    expect(await fixture.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(await fixture.authenticate(`Bearer ${other.text}`)).toMatchObject({ type: 'authenticated' });
    expect(fixture.backgroundErrors).toEqual([]);

    fixture.changeKey(id, { revokedAt: clock() });
    clock.advance(5_000);
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
