import { randomBytes } from 'node:crypto';
import { generateApiKeyText, hashApiKeyText, type PlanName, StorageUnavailableError } from '@petstore/domain';
import { startPostgresServer } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestAuthenticator, type TestAuthenticator, unknownKeyText } from './test-authenticator.ts';

describe('the Authorization header', () => {
  let fixture: TestAuthenticator;
  beforeAll(async () => {
    fixture = await openTestAuthenticator();
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  test.each([undefined, '', 'Bearer', 'bearer ', 'Basic dXNlcjpwdw==', 'Bearerpso_live_x', 'pso_live_abcd1234_x'])(
    'holds no bearer token: %j is missing',
    (header) => {
      expect(fixture.authenticator.authenticate(header)).toEqual({ type: 'missing' });
    },
  );

  test('is read in any case and with several blanks, to the same key', async () => {
    const { id, text } = await fixture.createKey();
    const lookUpsBefore = fixture.lookUps.length;
    for (const header of [`Bearer ${text}`, `bearer ${text}`, `BEARER   ${text}`, `bEaReR \t ${text}`]) {
      expect(await fixture.authenticator.authenticate(header)).toMatchObject({
        type: 'authenticated',
        principal: { keyId: id },
      });
    }
    expect(fixture.lookUps).toHaveLength(lookUpsBefore + 1);
  });

  test('with a bare key counts as missing, even if the key is good', async () => {
    const { text } = await fixture.createKey();
    expect(fixture.authenticator.authenticate(text)).toEqual({ type: 'missing' });
  });

  test('with a typo in the key is refused without a look-up', async () => {
    const { text } = await fixture.createKey();
    const lookUpsBefore = fixture.lookUps.length;
    const typo = text.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    for (const token of [typo, `${text}x`, `${text} ${text}`, 'secret', text.toLowerCase()]) {
      expect(fixture.authenticator.authenticate(`Bearer ${token}`)).toEqual({ type: 'invalid' });
    }
    expect(fixture.lookUps).toHaveLength(lookUpsBefore);
  });
});

describe('a key', () => {
  test.each(['external', 'internal'] as const)('speaks for a principal of its kind: %s', async (kind) => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey({ kind });
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({
      type: 'authenticated',
      principal: { type: 'api-key', keyId: id, kind, plan: { name: 'free' } },
    });
  });

  test('that is unknown, revoked or expired is refused alike', async () => {
    await using fixture = await openTestAuthenticator();
    const revoked = await fixture.createKey();
    await fixture.persistence.keyAdministration.revokeKey(revoked.id, fixture.clock());
    const expired = await fixture.createKey({ expiresAt: fixture.clock() });
    for (const text of [unknownKeyText(), revoked.text, expired.text]) {
      expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    }
  });

  test('is looked up once for any number of requests at a time', async () => {
    await using fixture = await openTestAuthenticator();
    const { text } = await fixture.createKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => fixture.authenticator.authenticate(`Bearer ${text}`)),
    );
    expect(new Set(answers.map(({ type }) => type))).toEqual(new Set(['authenticated']));
    expect(fixture.lookUps).toHaveLength(1);
  });

  test('is known for 5 seconds, without a promise, and looked up again then', async () => {
    await using fixture = await openTestAuthenticator();
    const { text } = await fixture.createKey();
    await fixture.authenticator.authenticate(`Bearer ${text}`);
    fixture.clock.advance(4_999);
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(1);
    fixture.clock.advance(1);
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toBeInstanceOf(Promise);
    expect(fixture.lookUps).toHaveLength(2);
  });

  test('expires to the millisecond, while it is known', async () => {
    await using fixture = await openTestAuthenticator();
    const { text } = await fixture.createKey({ expiresAt: new Date(fixture.clock().getTime() + 1_000) });
    await fixture.authenticator.authenticate(`Bearer ${text}`);
    fixture.clock.advance(999);
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
    fixture.clock.advance(1);
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('keeps both secrets while a rotation overlaps', async () => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    const newText = generateApiKeyText('live', id, randomBytes);
    await fixture.persistence.keyAdministration.rotateKey(id, {
      secretHash: hashApiKeyText(newText),
      now: fixture.clock(),
      overlapEndsAt: new Date(fixture.clock().getTime() + 3_000),
    });
    for (const good of [text, newText]) {
      expect(await fixture.authenticator.authenticate(`Bearer ${good}`)).toMatchObject({ principal: { keyId: id } });
    }
    fixture.clock.advance(3_000);
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.authenticator.authenticate(`Bearer ${newText}`)).toMatchObject({ type: 'authenticated' });
  });
});

describe('a change of plan', () => {
  test('is in force within 5 seconds, or at once if it is announced', async () => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    const { clock, persistence } = fixture;
    const authenticate = () => fixture.authenticator.authenticate(`Bearer ${text}`);
    const planned = (name: PlanName) => ({ type: 'authenticated', principal: { plan: { name } } });
    expect(await authenticate()).toMatchObject(planned('free'));
    await persistence.keyAdministration.setPlan(id, { name: 'business' }, clock());
    expect(authenticate()).toMatchObject(planned('free'));
    clock.advance(5_000);
    expect(await authenticate()).toMatchObject(planned('business'));
    await persistence.keyAdministration.setPlan(id, { name: 'pro' }, clock());
    fixture.authenticator.forget(id);
    expect(await authenticate()).toMatchObject(planned('pro'));
  });
});

describe('a revocation', () => {
  test('holds within 5 seconds without a notification', async () => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    await fixture.authenticator.authenticate(`Bearer ${text}`);
    await fixture.persistence.keyAdministration.revokeKey(id, fixture.clock());
    fixture.clock.advance(5_000);
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
  });

  test('holds from the next request on after a notification, and no other key is forgotten', async () => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    const other = await fixture.createKey();
    await fixture.authenticator.authenticate(`Bearer ${text}`);
    await fixture.authenticator.authenticate(`Bearer ${other.text}`);
    await fixture.persistence.keyAdministration.revokeKey(id, fixture.clock());
    fixture.authenticator.forget(id);
    expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toEqual({ type: 'invalid' });
    expect(fixture.authenticator.authenticate(`Bearer ${other.text}`)).toMatchObject({ type: 'authenticated' });
  });

  test('is not undone by a look-up that had begun before', async () => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    const before = fixture.authenticator.authenticate(`Bearer ${text}`);
    fixture.authenticator.forget(id);
    expect(await before).toMatchObject({ type: 'authenticated' });
    expect(fixture.authenticator.authenticate(`Bearer ${text}`)).toBeInstanceOf(Promise);
    expect(fixture.lookUps).toHaveLength(2);
  });
});

describe('the last use of a key', () => {
  test('is written at most once a minute, and no request waits for it', async () => {
    await using fixture = await openTestAuthenticator();
    const { id, text } = await fixture.createKey();
    const lastUse = async () => (await fixture.persistence.keyAdministration.findKey(id))?.lastUsedAt;
    const use = async () => {
      expect(await fixture.authenticator.authenticate(`Bearer ${text}`)).toMatchObject({ type: 'authenticated' });
      await Promise.all(fixture.marks);
    };
    const firstUse = fixture.clock();
    await use();
    expect(await lastUse()).toEqual(firstUse);
    for (let seconds = 1; seconds < 60; seconds++) {
      fixture.clock.advance(1_000);
      await use();
    }
    expect(fixture.marks).toHaveLength(1);
    fixture.clock.advance(1_000);
    await use();
    expect(fixture.marks).toHaveLength(2);
    expect(await lastUse()).toEqual(fixture.clock());
  });
});

describe('while PostgreSQL is away', () => {
  test('a known key stays good for 60 s past its 5 s, any other is unavailable, and all recovers', {
    timeout: 120_000,
  }, async () => {
    await using server = await startPostgresServer();
    await using fixture = await openTestAuthenticator(server.url);
    await fixture.persistence.migrations.migrate();
    const { id, text } = await fixture.createKey();
    const other = await fixture.createKey();
    const header = `Bearer ${text}`;
    const { authenticator, clock } = fixture;
    await authenticator.authenticate(header);
    await server.stop();

    clock.advance(5_000);
    expect(await authenticator.authenticate(header)).toMatchObject({ type: 'authenticated' });
    await expect(authenticator.authenticate(`Bearer ${other.text}`)).rejects.toBeInstanceOf(StorageUnavailableError);
    // From here on no request waits: the store is asked once a second, beside the requests.
    const lookUpsBefore = fixture.lookUps.length;
    for (let i = 0; i < 100; i++) {
      expect(authenticator.authenticate(header)).toMatchObject({ type: 'authenticated' });
    }
    expect(fixture.lookUps).toHaveLength(lookUpsBefore);
    clock.advance(59_999);
    expect(authenticator.authenticate(header)).toMatchObject({ type: 'authenticated' });
    expect(fixture.lookUps).toHaveLength(lookUpsBefore + 1);
    await Promise.all(fixture.lookUps);
    clock.advance(1);
    await expect(authenticator.authenticate(header)).rejects.toBeInstanceOf(StorageUnavailableError);

    await server.restart();
    await expect
      .poll(() => authenticator.authenticate(header), { timeout: 30_000 })
      .toMatchObject({ type: 'authenticated' });
    expect(await authenticator.authenticate(`Bearer ${other.text}`)).toMatchObject({ type: 'authenticated' });
    expect(fixture.backgroundErrors).toEqual([]);

    await fixture.persistence.keyAdministration.revokeKey(id, clock());
    clock.advance(5_000);
    expect(await authenticator.authenticate(header)).toEqual({ type: 'invalid' });
  });

  test('a key that was forgotten stays so', { timeout: 120_000 }, async () => {
    await using server = await startPostgresServer();
    await using fixture = await openTestAuthenticator(server.url);
    await fixture.persistence.migrations.migrate();
    const { id, text } = await fixture.createKey();
    await fixture.authenticator.authenticate(`Bearer ${text}`);
    await server.stop();
    fixture.authenticator.forget(id);
    await expect(fixture.authenticator.authenticate(`Bearer ${text}`)).rejects.toBeInstanceOf(StorageUnavailableError);
  });
});
