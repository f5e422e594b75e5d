import { Redis } from 'ioredis';
import { type Contender, LIMIT } from './contender.ts';

/** What a contender takes of Redis. */
export interface Cost {
  /** Microseconds within Redis' commands for an admitted request, where one follows the other. */
  readonly aloneUs: number;
  /** The same, with 50 requests under way. */
  readonly crowdedUs: number;
  /** Bytes that Redis keeps for a caller who has used the limit up at once. */
  readonly bytes: number;
}

const CROWD = 50;
/** The contenders take turns, so that what else the machine does meets all of them; the median of the rounds counts. */
const ROUNDS = 7;
/** How many callers use their limit up in a round, one request after the other, and at once. */
const ALONE_CALLERS = 3;
const CROWD_CALLERS = 20;

export async function measureCosts(
  contenders: readonly Contender[],
  urlOf: (index: number) => string,
): Promise<readonly Cost[]> {
  const rounds: Cost[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const costs: Cost[] = [];
    for (const [index, contender] of contenders.entries()) costs.push(await measureCost(contender, urlOf(index)));
    rounds.push(costs);
  }
  const medianOf = (index: number, key: keyof Cost): number =>
    rounds.map((costs) => costs[index]?.[key] ?? Number.NaN).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ??
    Number.NaN;
  return contenders.map((_, index) => ({
    aloneUs: medianOf(index, 'aloneUs'),
    crowdedUs: medianOf(index, 'crowdedUs'),
    bytes: medianOf(index, 'bytes'),
  }));
}

async function measureCost(contender: Contender, redisUrl: string): Promise<Cost> {
  const redis = new Redis(redisUrl);
  await using opened = await contender.open(redisUrl);
  /** Uses up the limit of so many callers. @returns the microseconds for each request */
  async function measure(prefix: string, callers: number, atOnce: number): Promise<number> {
    const waiting = Array.from({ length: LIMIT * callers }, (_, i) => `${prefix}${i % callers}`);
    await opened.request(`warm-up${prefix}`); // connects, sends the script
    await redis.config('RESETSTAT');
    const work = async () => {
      for (let caller = waiting.pop(); caller !== undefined; caller = waiting.pop()) {
        const { outcome } = await opened.request(caller);
        if (outcome !== 'admitted') throw new Error(`${contender.name} refused a request within the limit`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return (await readScriptUs(redis)) / (LIMIT * callers);
  }
  try {
    const aloneUs = await measure('alone00', ALONE_CALLERS, 1);
    const crowdedUs = await measure('crowd00', CROWD_CALLERS, CROWD);
    return { aloneUs, crowdedUs, bytes: await measureBytes(redis, 'crowd000') };
  } finally {
    await redis.flushdb();
    redis.disconnect();
  }
}

/** All contenders run scripts alone; what these call is part of their time. */
async function readScriptUs(redis: Redis): Promise<number> {
  const lines = (await redis.info('commandstats')).matchAll(/^cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/gm);
  return [...lines].reduce((sum, [, us]) => sum + Number(us), 0);
}

/** The bytes of all keys in which the caller is named, with what Redis itself needs for them. */
export async function measureBytes(redis: Redis, caller: string): Promise<number> {
  const keys = await redis.keys(`*${caller}*`);
  const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
