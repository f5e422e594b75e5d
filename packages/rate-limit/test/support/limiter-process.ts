import { Redis } from 'ioredis';
import { RedisLimiter } from '../../src/redis-limiter.ts';

// A server, as far as limits go: sends requests for some keys, so many at once, and prints how each ended.
// Arguments: URL, keys (comma separated), limit per minute, requests, requests at once, processes.

const [url = '', keys = '', perMinute, requests, atOnce, processes] = process.argv.slice(2);
const redis = new Redis(url);
const limiter = new RedisLimiter({ redis });
const subjects = keys.split(',').map((name) => ({ name, perMinute: Number(perMinute), perDay: 1_000_000 }));

// All begin together.
await redis.incr('ready');
while ((await redis.get('ready')) !== processes) await new Promise((resolve) => setTimeout(resolve, 2));

const ended: { key: string; remaining: number }[] = [];
let sent = 0;
async function send(): Promise<void> {
  while (sent < Number(requests)) {
    const subject = subjects[sent++ % subjects.length];
    if (subject === undefined) throw new Error('no keys');
    const decision = await limiter.check(subject, 1);
    if (decision.outcome === 'admitted') ended.push({ key: subject.name, remaining: decision.minute.remaining });
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, send));
process.stdout.write(JSON.stringify(ended));
await redis.quit();
