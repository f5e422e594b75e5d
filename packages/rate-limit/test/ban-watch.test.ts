import { startRedisServer } from '@petstore/testing';
import { afterAll, expect, test } from 'vitest';
import { noteBan, noteLift } from '../src/bans.ts';
import { BanWatch, connectRedis, type SubjectBan } from '../src/index.ts';
import { eventually, PATIENT } from './support/fault-scenario.ts';

const INTERVAL_MS = 20;

// One of its own, because it is frozen.
const server = await startRedisServer();
afterAll(() => server[Symbol.asyncDispose]());

/** What one server has. */
function openWatch() {
  const location = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
  const redis = connectRedis(location, PATIENT);
  const lifts: SubjectBan[] = [];
  const watch = new BanWatch({ redis, onLift: (ban) => lifts.push(ban), intervalMs: INTERVAL_MS });
  return {
    redis,
    watch,
    lifts,
    [Symbol.dispose]() {
      watch[Symbol.dispose]();
      redis.disconnect();
    },
  };
}

const lift = (subject: string): SubjectBan => ({ subject, level: 2, untilMs: Date.now() + 300_000 });

test('of several processes each learns how many keys are banned, and one of each ban that was lifted', async () => {
  using one = openWatch();
  using other = openWatch();
  await eventually(() => expect([one.redis.status, other.redis.status]).toEqual(['ready', 'ready']));
  await noteBan(one.redis, { subject: 'key', level: 1, untilMs: Date.now() + 60_000 });
  await eventually(() => expect([one.watch.bannedSubjects, other.watch.bannedSubjects]).toEqual([1, 1]));
  const sent = Array.from({ length: 50 }, (_, i) => lift(`key${i}`));
  for (const ban of sent) await noteLift(other.redis, ban);
  const byId = (a: SubjectBan, b: SubjectBan) =>
    sent.findIndex((x) => x.subject === a.subject) - sent.findIndex((x) => x.subject === b.subject);
  await eventually(() => expect([...one.lifts, ...other.lifts].toSorted(byId)).toEqual(sent));
  await other.redis.del('limits:bans');
});

test('what is lifted while Redis hangs is learnt when it responds again', async () => {
  using opened = openWatch();
  await eventually(() => expect(opened.redis.status).toBe('ready'));
  server.pause();
  const noted = noteLift(opened.redis, lift('key'));
  await new Promise((resolve) => setTimeout(resolve, 10 * INTERVAL_MS));
  expect(opened.lifts).toEqual([]);
  server.resume();
  await noted;
  await eventually(() => expect(opened.lifts).toMatchObject([{ subject: 'key', level: 2 }]));
});

test('a watch that has ended asks for nothing', async () => {
  using ended = openWatch();
  ended.watch[Symbol.dispose]();
  await eventually(() => expect(ended.redis.status).toBe('ready'));
  await noteLift(ended.redis, lift('key'));
  await new Promise((resolve) => setTimeout(resolve, 10 * INTERVAL_MS));
  expect(ended.lifts).toEqual([]);
  expect(await ended.redis.llen('limits:lifts')).toBe(1);
});
