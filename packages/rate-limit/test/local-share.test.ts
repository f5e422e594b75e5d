import { expect, test } from 'vitest';
import type { Use } from '../src/algorithm.ts';
import { LocalShare, type LocalShareOptions } from '../src/local-share.ts';
import type { Subject } from '../src/subject.ts';
import { newKey } from './support/traffic.ts';

const NOW_MS = 1_700_000_000_000;

/** A share of limits of which Redis has used nothing. */
const openShare = (instances: number, debit: LocalShareOptions['debit'], nowMs = () => NOW_MS): LocalShare =>
  new LocalShare({
    nowMs,
    instances,
    debit,
    lastStatusOf: ({ perMinute, perDay = 0 }: Subject) => ({
      outcome: 'last known',
      atMs: NOW_MS,
      minute: { limit: perMinute, remaining: perMinute, resetAtMs: NOW_MS },
      day: { limit: perDay, remaining: perDay, resetAtMs: NOW_MS },
    }),
  });

test('a pool that obeys is not banned at any of several instances: bans go by the whole limit', () => {
  const share = openShare(4, async () => {});
  const subject = newKey(300, 100_000);
  const outcomes = Array.from({ length: 75 + 600 }, () => share.check(subject, 1).outcome);
  expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(75);
  expect(outcomes.filter((outcome) => outcome === 'banned')).toEqual([]);
  expect(share.check(subject, 1).outcome).toBe('banned');
});

test.each([
  ['that Redis refused', Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' }), [5, 5]],
  ['that was not sent', new Error("Stream isn't writeable and enableOfflineQueue options is false"), [5, 5]],
  ['that timed out', new Error('Command timed out'), [5]],
  ['whose connection was lost', new Error('Connection is closed.'), [5]],
])('a debit %s is sent again only if it cannot have run', async (_, failure, expected) => {
  const sent: number[] = [];
  const share = openShare(1, async (_subject, { day }) => {
    sent.push(day);
    if (sent.length === 1) throw failure;
  });
  const subject = newKey(10, 100);
  share.check(subject, 5);
  await share.bringBack(subject);
  await share.bringBack(subject);
  await share.bringBack(subject);
  expect(sent).toEqual(expected);
});

test('what is admitted while a debit is under way is debited after it', async () => {
  const sent: number[] = [];
  const underWay = Promise.withResolvers<void>();
  const share = openShare(1, async (_subject, { day }) => {
    sent.push(day);
    await underWay.promise;
  });
  const subject = newKey(10, 100);
  share.check(subject, 5);
  const first = share.bringBack(subject);
  await share.bringBack(subject); // not sent twice
  share.check(subject, 2);
  underWay.resolve();
  await first;
  await share.bringBack(subject);
  expect(sent).toEqual([5, 2]);
});

test('what has left the minute meanwhile is debited to the day alone', async () => {
  const sent: Use[] = [];
  let nowMs = NOW_MS;
  const debit: LocalShareOptions['debit'] = async (_subject, use) => void sent.push(use);
  const share = openShare(1, debit, () => nowMs);
  const subject = newKey(10, 100);
  share.check(subject, 5);
  nowMs += 61_000;
  await share.bringBack(subject);
  expect(sent).toEqual([{ minute: 0, day: 5 }]);
});
