import { Redis } from 'ioredis';
import { ADMITTED, type Contender, LIMIT, type OpenContender, refusedFor, WINDOW_MS } from '../contender.ts';

/** The generic cell rate algorithm: one time, that of the next request at an even pace, of which a burst may run ahead. */
const GCRA = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local next = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + interval
local wait = next - now - interval * burst
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', next), 'PX', math.ceil(next - now))
return 0`;

async function open(redisUrl: string): Promise<OpenContender> {
  const redis = new Redis(redisUrl, { scripts: { gcra: { lua: GCRA, numberOfKeys: 1 } } });
  redis.on('error', () => {}); // the requests that fail for it say so
  // The option has just added the command, which the types do not show.
  const { gcra } = redis as unknown as Record<'gcra', (key: string, ...values: number[]) => Promise<number>>;
  return {
    request: async (caller) => {
      const waitMs = await gcra.call(redis, `gcra:${caller}`, WINDOW_MS / LIMIT, LIMIT);
      return waitMs === 0 ? ADMITTED : refusedFor(Math.ceil(waitMs / 1_000));
    },
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  };
}

/** Written here, because redis-gcra, the package for it, asks for an ioredis before 5. */
export const gcra: Contender = { name: 'GCRA', algorithm: 'GCRA, a burst of the whole limit', open };
