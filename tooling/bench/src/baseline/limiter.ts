import { Redis } from 'ioredis';

/** Whether a request is admitted, and for the window with less room: its limit, remaining units, and end in Unix seconds. */
type Admission = readonly [admitted: 0 | 1, limit: number, remaining: number, reset: number];

/**
 * The usual approximation of a sliding window: the count of the present minute (or day), and of the previous one the share
 * that still lies within the window. One call decides on both windows.
 */
const ADMIT = `
local now = tonumber(redis.call('TIME')[1])
local state = redis.call('HMGET', KEYS[1], 'm', 'mc', 'mp', 'd', 'dc', 'dp')

local function window(first, length)
  local index = math.floor(now / length)
  local known, count, previous = tonumber(state[first] or 0), tonumber(state[first + 1] or 0), tonumber(state[first + 2] or 0)
  if known == index - 1 then count, previous = 0, count
  elseif known ~= index then count, previous = 0, 0 end
  return index, count, previous, count + previous * (1 - (now % length) / length)
end

local minute, minuteCount, minutePrevious, minuteUsed = window(1, 60)
local day, dayCount, dayPrevious, dayUsed = window(4, 86400)
local minuteLeft, dayLeft = math.floor(ARGV[1] - minuteUsed), math.floor(ARGV[2] - dayUsed)
local admitted = 0
if minuteLeft >= 1 and dayLeft >= 1 then
  admitted, minuteLeft, dayLeft = 1, minuteLeft - 1, dayLeft - 1
  redis.call('HSET', KEYS[1], 'm', minute, 'mc', minuteCount + 1, 'mp', minutePrevious,
    'd', day, 'dc', dayCount + 1, 'dp', dayPrevious)
  if dayCount == 0 then redis.call('EXPIRE', KEYS[1], 172800) end
end
if dayLeft <= minuteLeft then return { admitted, tonumber(ARGV[2]), math.max(dayLeft, 0), (day + 1) * 86400 } end
return { admitted, tonumber(ARGV[1]), math.max(minuteLeft, 0), (minute + 1) * 60 }
`;

type ScriptedRedis = Redis & { admit(key: string, perMinute: number, perDay: number): Promise<Admission> };

export function createLimiter(redisUrl: string) {
  const redis = new Redis(redisUrl);
  redis.defineCommand('admit', { numberOfKeys: 1, lua: ADMIT });
  const scripted = redis as ScriptedRedis; // defineCommand has just added it
  return {
    admit: (subject: string, { perMinute, perDay }: { readonly perMinute: number; readonly perDay: number }) =>
      scripted.admit(`baseline:${subject}`, perMinute, perDay),
  };
}
