-- Decides on requests in one atomic call. algorithm.ts explains the functions newState to decide, which both files share.
--
-- KEYS  the state of the subject of each call. A key may be repeated: its calls are decided in this order.
-- ARGV  the time in milliseconds, or '' for the clock of Redis; then for each call its operation, the limits per minute
--       and per day ('' for none), the cost, and how many refusals may count at once: one more is a ban ('' for none).
--         decide  admits the cost, or counts a refusal
--         read    changes nothing
--         lift    ends a ban and forgets refusals
-- Returns for each call { outcome, now, { used, reset } of the minute, the same of the day, { refusals that count, level and
-- end of the ban } }; a refusal adds { window, release, when to come back }, without the ban. The outcome of decide is
-- admitted, refused, banned or newly banned, that of the others is status.
-- All times are milliseconds since the epoch.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max

-- A log is a list: the total, then bucket, count, bucket, count, the oldest first.
local MINUTE = { width = 1000, hold = 61000, ahead = 0 }
local DAY = { width = 900000, hold = 87300000, ahead = 0 }
local REFUSALS = { width = 10000, hold = 0, ahead = 60000 }
local BANS = { 60000, 300000, 900000, 3600000 }
local BAN_MEMORY = 86400000

local function newState()
  return { minute = { 0 }, day = { 0 }, refusals = { 0 }, level = 0, bannedUntil = 0 }
end

local function endOf(kind, bucket)
  return bucket * kind.width + kind.hold
end

local function add(log, kind, time, count)
  if count == 0 then return end
  local bucket, i = floor(time / kind.width), #log - 1
  while i > 1 and log[i] > bucket do i = i - 2 end
  if i < 2 or log[i] ~= bucket then
    i = max(i + 2, 2)
    table.insert(log, i, bucket)
    table.insert(log, i + 1, 0)
  end
  log[i + 1] = log[i + 1] + count
  log[1] = log[1] + count
end

local function expire(log, kind, now)
  local latest, ahead = floor((now + kind.ahead) / kind.width), 0
  while #log > 1 and log[#log - 1] > latest do
    ahead = ahead + table.remove(log)
    table.remove(log)
  end
  log[1] = log[1] - ahead
  add(log, kind, now, ahead)
  local over, first = 0, 2
  while log[first] and endOf(kind, log[first]) <= now do
    over = over + log[first + 1]
    first = first + 2
  end
  -- The second condition fails only if the state is damaged.
  if not (log[first] and log[first] <= latest) then return { 0 } end
  return over == 0 and log or { log[1] - over, unpack(log, first) }
end

local function freeAt(log, kind, units, now)
  local freed = 0
  for i = 2, #log, 2 do
    freed = freed + log[i + 1]
    if freed >= units then return endOf(kind, log[i]) end
  end
  return now
end

local function resetOf(log, kind, limit, now)
  return freeAt(log, kind, max(1, log[1] - limit + 1), now)
end

local function advance(state, now)
  state.minute = expire(state.minute, MINUTE, now)
  state.day = expire(state.day, DAY, now)
  state.refusals = expire(state.refusals, REFUSALS, now)
  state.bannedUntil = min(state.bannedUntil, now + (BANS[state.level] or 0))
  if state.bannedUntil + BAN_MEMORY <= now then state.level, state.bannedUntil = 0, 0 end
end

local function lift(state)
  state.refusals, state.level, state.bannedUntil = { 0 }, 0, 0
end

local function ban(state, now)
  state.refusals, state.level = { 0 }, min(state.level + 1, #BANS)
  state.bannedUntil = now + BANS[state.level]
end

local function promiseOfMinute(state, over, now)
  return freeAt(state.minute, MINUTE, min(over + state.refusals[1], state.minute[1]), now)
end

local function countRefusal(state, retry, now)
  local told = now + ceil((retry - now) / 1000) * 1000
  add(state.refusals, REFUSALS, min(told - 2000, now + 60000), 1)
  state.refusals = expire(state.refusals, REFUSALS, now)
end

local function decide(state, perMinute, perDay, cost, refusalsMax, now)
  local minuteOver = state.minute[1] + cost - perMinute
  local dayOver = perDay and state.day[1] + cost - perDay or 0
  local minuteRelease = minuteOver > 0 and freeAt(state.minute, MINUTE, minuteOver, now) or now
  local dayRelease = dayOver > 0 and freeAt(state.day, DAY, dayOver, now) or now
  local window = dayOver > 0 and dayRelease >= minuteRelease and 'day' or minuteOver > 0 and 'minute' or 'none'
  local release = max(minuteRelease, dayRelease)
  if state.bannedUntil > now then return 'banned', { window, release, release } end
  if window == 'none' then
    add(state.minute, MINUTE, now, cost)
    if perDay then add(state.day, DAY, now, cost) end
    return 'admitted'
  end
  local retry = window == 'minute' and promiseOfMinute(state, minuteOver, now) or release
  countRefusal(state, retry, now)
  if not refusalsMax or state.refusals[1] <= refusalsMax then return 'refused', { window, release, retry } end
  ban(state, now)
  return 'newly banned', { window, release, release }
end

local function apply(state, operation, perMinute, perDay, cost, refusalsMax, now)
  local outcome, refusal = 'status', nil
  if operation == 'decide' then outcome, refusal = decide(state, perMinute, perDay, cost, refusalsMax, now) end
  if operation == 'lift' then lift(state) end
  return { outcome, now, { state.minute[1], resetOf(state.minute, MINUTE, perMinute, now) },
    { state.day[1], resetOf(state.day, DAY, perDay or 0, now) }, { state.refusals[1], state.level, state.bannedUntil }, refusal }
end

-- A state that cannot be read counts as empty, without effect on other keys.
local function load(key, now)
  local stored = redis.pcall('GET', key)
  if type(stored) == 'table' and not stored.err:find('WRONGTYPE') then error(stored.err) end
  local isRead, state = pcall(cmsgpack.unpack, stored)
  if not isRead or not pcall(advance, state, now) or type(state.level) ~= 'number' then state = newState() end
  return state
end

local function save(key, state, holdMs, now)
  local keepMs = state.level > 0 and max(holdMs, state.bannedUntil + BAN_MEMORY - now) or holdMs
  redis.call('SET', key, cmsgpack.pack(state), 'PX', keepMs)
end

local now = tonumber(ARGV[1])
if not now then
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + floor(clock[2] / 1000)
end
local states, holds, results = {}, {}, {}
for i, key in ipairs(KEYS) do
  local operation, perMinute, perDay, cost, refusalsMax = unpack(ARGV, i * 5 - 3, i * 5 + 1)
  perMinute, perDay, cost, refusalsMax = tonumber(perMinute), tonumber(perDay), tonumber(cost), tonumber(refusalsMax)
  local state = states[key] or load(key, now)
  local isDone, result = pcall(apply, state, operation, perMinute, perDay, cost, refusalsMax, now)
  if not isDone then
    state = newState()
    result = apply(state, operation, perMinute, perDay, cost, refusalsMax, now)
  end
  states[key], results[i] = state, result
  if operation ~= 'read' then holds[key] = perDay and DAY.hold or MINUTE.hold end
end
for key, holdMs in pairs(holds) do save(key, states[key], holdMs, now) end
return results
