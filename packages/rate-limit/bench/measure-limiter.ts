/*
 * Measures what the limiter costs: `pnpm bench` in this package. Needs redis-server on the PATH and 2 GB of memory for
 * a minute; starts a Redis of its own. On a busy machine only the processor times mean something.
 *
 * 1. The script beside two INCRs: calls per second, 50 callers on one connection; microseconds within commands, as Redis
 *    counts them (INFO commandstats); processor time of Redis and of this process per request. Alone in a call, and as a
 *    server sends it, with what came in together.
 * 2. Bytes of a key: fresh, refused, and full.
 * 3. A million keys, how often each comes being skewed (see population.ts), after a day: memory, then processor time
 *    per request while they come on. From that, what 100,000 requests a second and 10 million keys need.
 */
import type { ApiKeyId } from '@petstore/domain';
import { apiKeySubject, RedisLimiter } from '../src/index.ts';
import { defineScripts } from '../src/redis-scripts.ts';
import { encodeState } from '../src/state-codec.ts';
import { drawer, makePopulation, stateAfterADay } from './population.ts';
import { type RedisUnderMeasurement, startRedis } from './redis-under-measurement.ts';

const CALLERS = 50;
const WARM_UP_MS = 500;
const MEASURE_MS = 3_000;
const MILLION = 1_000_000;
/** Of each key on average, before plans cut it. */
const REQUESTS_PER_SECOND_EACH = 0.01;
/** Of a processor, before Redis answers late. */
const USABLE_SHARE = 0.7;

// Storage keys are made of any text.
const keyOf = (name: string, perMinute = 1e9, perDay = 1e9) => apiKeySubject(name as ApiKeyId, { perMinute, perDay });

/** Runs callers that send their next request when the last is answered, each in a turn of its own of the event loop. */
async function runCallers(request: (i: number) => Promise<unknown>, forMs: number): Promise<number> {
  let sent = 0;
  const endMs = performance.now() + forMs;
  const caller = async () => {
    while (performance.now() < endMs) {
      await request(sent++);
      await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return sent;
}

async function measure(
  server: RedisUnderMeasurement,
  name: string,
  commands: readonly string[],
  request: (i: number) => Promise<unknown>,
) {
  await runCallers(request, WARM_UP_MS);
  await server.redis.config('RESETSTAT');
  const [redisBefore, ownBefore, startMs] = [await server.cpuMicroseconds(), process.cpuUsage(), performance.now()];
  const requests = await runCallers(request, MEASURE_MS);
  const own = process.cpuUsage(ownBefore);
  const row = {
    'requests/s': Math.round((requests / (performance.now() - startMs)) * 1000),
    'µs in commands': round((await server.commandMicroseconds(...commands)) / requests),
    'µs CPU of Redis': round(((await server.cpuMicroseconds()) - redisBefore) / requests),
    'µs CPU here': round((own.user + own.system) / requests),
  };
  console.log(name.padEnd(44), row);
  return row;
}

const round = (value: number): number => Math.round(value * 100) / 100;

async function fill(limiter: (nowMs: number) => RedisLimiter, name: string): Promise<void> {
  const endMs = Date.now() - 61_000;
  for (let i = 288; i > 0; i--) await limiter(endMs - i * 300_000 + 1_000).check(keyOf(name), 1);
  for (let i = 61; i > 0; i--) await limiter(endMs + 61_000 - i * 1_000).check(keyOf(name), 1);
}

async function measureCalls(server: RedisUnderMeasurement): Promise<void> {
  console.log('\n1. Calls');
  const { redis } = server;
  const scripted = defineScripts(redis);
  const limiter = new RedisLimiter({ redis });
  const alone = (storageKey: string, perDay: number) =>
    scripted.rateLimitCheckBuffer(1, [storageKey, '', 'k', 1, 1e9, perDay]);
  const scriptCommands = ['evalsha', 'eval'];
  await fill((nowMs) => new RedisLimiter({ redis, nowMs: () => nowMs }), 'full');
  await fill((nowMs) => new RedisLimiter({ redis, nowMs: () => nowMs }), 'refused');
  await measure(server, 'two INCRs', ['incr'], (i) =>
    Promise.all([redis.incr(`a${i % 1000}`), redis.incr(`b${i % 1000}`)]),
  );
  await measure(server, 'script, 1,000 keys', scriptCommands, (i) => alone(`rl:key:${i % 1000}`, 1e9));
  await measure(server, 'script, one full key', scriptCommands, () => alone('rl:key:full', 1e9));
  await measure(server, 'script, one full key, refused', scriptCommands, () => alone('rl:key:refused', 349));
  const subjects = Array.from({ length: 1000 }, (_, i) => keyOf(`together${i}`));
  await measure(server, 'limiter (what comes together goes together)', scriptCommands, (i) =>
    limiter.check(subjects[i % 1000] ?? keyOf(''), 1),
  );
}

async function measureKeys({ redis }: RedisUnderMeasurement): Promise<void> {
  console.log('\n2. Bytes of a key (value; with everything that Redis keeps for it)');
  const show = async (name: string, key: string) => {
    const storageKey = keyOf(key).storageKey;
    console.log(name.padEnd(44), await redis.strlen(storageKey), await redis.call('MEMORY', 'USAGE', storageKey));
  };
  const limiter = new RedisLimiter({ redis });
  await limiter.check(keyOf('fresh'), 1);
  await show('fresh', 'fresh');
  for (let i = 0; i < 2; i++) await limiter.check(keyOf('refused', 1), 1);
  await show('refused', 'refused');
  await fill((nowMs) => new RedisLimiter({ redis, nowMs: () => nowMs }), 'filled');
  await show('full: every second and every 5 minutes', 'filled');
}

async function measureMillion(server: RedisUnderMeasurement): Promise<void> {
  console.log('\n3. A million keys after a day');
  const { redis } = server;
  await redis.flushall();
  const emptyBytes = await server.memoryBytes();
  const population = makePopulation(MILLION, REQUESTS_PER_SECOND_EACH);
  const nowMs = Date.now();
  for (let i = 0; i < MILLION; i += 1_000) {
    const pipeline = redis.pipeline();
    for (const member of population.slice(i, i + 1_000)) {
      pipeline.set(member.subject.storageKey, encodeState(stateAfterADay(member, nowMs)), 'PX', 86_760_000);
    }
    await pipeline.exec();
  }
  const bytesEach = ((await server.memoryBytes()) - emptyBytes) / MILLION;
  const total = population.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
  console.log(`${Math.round(total)} requests/s by ${MILLION} keys; ${Math.round(bytesEach)} bytes each`);
  const limiter = new RedisLimiter({ redis });
  const draw = drawer(population);
  const row = await measure(server, 'limiter, keys as they come', ['evalsha', 'eval'], () =>
    limiter.check(draw().subject, 1),
  );
  const perSecond = (USABLE_SHARE * 1e6) / row['µs CPU of Redis'];
  const gigabytes = (bytesEach * 10 * MILLION) / 1e9;
  console.log(`One Redis at ${USABLE_SHARE * 100} % of a processor: ${Math.round(perSecond)} requests/s.`);
  console.log(
    `100,000 requests/s: ${Math.ceil(100_000 / perSecond)} masters. 10 million keys: ${round(gigabytes)} GB.`,
  );
}

await using server = await startRedis();
await measureCalls(server);
await measureKeys(server);
await measureMillion(server);
