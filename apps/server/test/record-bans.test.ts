import { type ApiKeyId, SERVICE_ACTOR, StorageUnavailableError } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';
import { manualClock, startPostgresServer } from '@petstore/testing';
import pino from 'pino';
import { expect, test } from 'vitest';
import { createBanRecorder } from '../src/operations/record-bans.ts';
import { prepareServerDatabase } from './support/database.ts';

const KEY_ID = 'aaaaaaaa' as ApiKeyId; // as a generated one

/** A recorder and what it logs. */
function openRecorder(audit: Parameters<typeof createBanRecorder>[0]['audit'], resources: AsyncDisposableStack) {
  const lines: { readonly msg: string }[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const clock = manualClock('2026-11-20T12:00:00.000Z');
  const recordBan = createBanRecorder({ audit, clock, logger, retryEveryMs: 10 }, resources);
  return { recordBan, clock, lines };
}

test('a ban that is set while PostgreSQL is away is recorded when it is back, with the time at which it was set', async () => {
  await using postgres = await startPostgresServer();
  await prepareServerDatabase(postgres.url);
  await using persistence = openPersistence({ databaseUrl: postgres.url });
  await using resources = new AsyncDisposableStack();
  const { recordBan, clock, lines } = openRecorder(persistence.audit, resources);
  await postgres.kill();
  await expect(persistence.audit.read({ limit: 1 })).rejects.toBeInstanceOf(StorageUnavailableError);
  const at = clock();
  recordBan(KEY_ID);
  clock.advance(60_000);
  await postgres.restart();
  const read = () => persistence.audit.read({ keyId: KEY_ID, limit: 10 }).catch(() => []);
  await expect
    .poll(read, { timeout: 30_000 })
    .toEqual([{ action: 'ban.set', at, actor: SERVICE_ACTOR, keyId: KEY_ID }]);
  expect(lines).toEqual([]);
}, 120_000);

test('a ban that waits when the server stops is an error in the log, with its time', async () => {
  let calls = 0;
  const resources = new AsyncDisposableStack();
  const audit = {
    async recordBan() {
      calls++;
      throw new StorageUnavailableError('connection refused');
    },
  };
  const { recordBan, clock, lines } = openRecorder(audit, resources);
  recordBan(KEY_ID);
  await expect.poll(() => calls).toBeGreaterThan(2);
  expect(lines).toEqual([]);
  await resources.disposeAsync();
  const missing = { msg: 'a ban is missing in the audit', keyId: KEY_ID, at: clock().toISOString() };
  await expect.poll(() => lines).toMatchObject([{ ...missing, err: { message: 'connection refused' } }]);
  const before = calls;
  recordBan(KEY_ID);
  await expect.poll(() => lines).toMatchObject([missing, missing]);
  expect(calls).toBe(before + 1);
});

test('of the bans that PostgreSQL cannot take 1,000 wait, and the next is an error in the log', async () => {
  await using resources = new AsyncDisposableStack();
  const audit = { recordBan: () => Promise.reject(new StorageUnavailableError('connection refused')) };
  const { recordBan, lines } = openRecorder(audit, resources);
  for (let i = 0; i < 1_001; i++) recordBan(KEY_ID);
  await expect.poll(() => lines.length).toBe(1);
  expect(lines).toMatchObject([{ msg: 'a ban is missing in the audit' }]);
});

test('a ban that PostgreSQL refuses for good is not tried again', async () => {
  await using resources = new AsyncDisposableStack();
  let calls = 0;
  const audit = {
    async recordBan() {
      calls++;
      throw new Error('permission denied for table key_events');
    },
  };
  const { recordBan, lines } = openRecorder(audit, resources);
  recordBan(KEY_ID);
  await expect.poll(() => lines).toHaveLength(1);
  expect(calls).toBe(1);
});
