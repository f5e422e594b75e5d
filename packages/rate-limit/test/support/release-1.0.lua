-- Decides on requests, or debits, reads or pardons: subject-state.ts, penalty.ts and window-log.ts, step for step, in one
-- atomic call. They explain why. Few functions and no tables: each call makes them anew, at more cost than its arithmetic.
--
-- KEYS    one per request; requests for the same key are decided in their order
-- ARGV[1] the time in milliseconds, or nothing for Redis' own
-- ARGV    then per key: mode, cost, limit per minute, limit per day (0 for none). The modes, of an API key and of a client
--         address, which has no day and is never banned:
--           k, a  check
--           d, b  debit `cost` to the minute and `limit per day` to the day, whether they fit or not
--           p, q  read, with the cost 1
--           l     drop strikes, level and ban of a key, with the cost 0 and the limit 0 per day
-- Returns the time (f64), then per key a u8 and seven u32, with times in milliseconds from now:
--           check   0 admitted, 1 and 2 exceeded, 3 and 4 banned (odd: by the minute); remaining and reset of the minute,
--                   of the day; release, retry, ban end
--           read    0; used and reset of the minute, of the day; strikes, level of the ban, ban end
--           others  0; six without meaning; the end of the ban that was dropped
--
-- A state, little endian. A key that was rarely used and never refused takes 42 bytes: one small allocation.
--    0  u8   version: 1, or 2 where a penalty follows
--    1  u8   closed entries of the minute
--    2  u48  time of the last change, milliseconds since the epoch
--    8  u16  closed entries of the day
--   10  u32  minute: open entry's beginning, last hit, count; total
--   26  u32  day: the same
--  [42  u32  penalty: span start, strikes, returns due, returns pending, first return, ban end
--   66  f64  last promise
--   74  u8   ban level]
--       the oldest closed entry of the minute, then of the day, where there are any: u32 last hit, u32 count
--       the other closed entries of the minute, then of the day, which most requests need not read
-- Every other time is kept modulo 2^32 ms (49 days) and lies within 25 hours of the time of the last change.
local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local floor, max, min = math.floor, math.max, math.min
local MODULUS, MINUTE, DAY = 4294967296, 60000, 86400000
local PLAIN, PENALTY, ENTRY = '<BBI6I2I4I4I4I4I4I4I4I4', '<I4I4I4I4I4I4dB', '<I4I4'
local ANSWER = '<BI4I4I4I4I4I4I4'

local now = tonumber(ARGV[1])
if not now then
  local clock = call('TIME')
  now = clock[1] * 1000 + floor(clock[2] / 1000)
end

-- How far `time`, which is kept modulo 2^32, is ahead of `origin`.
local function ahead(time, origin)
  return (time - origin + 2147483648) % MODULUS - 2147483648
end

-- Skips the entries that have left a window. Returns their number, the total without them, and the oldest one left.
local function expire(whole, oldest, rest, closed, at, length, total)
  local dropped, last, count = 0, unpack(ENTRY, whole, oldest)
  while (at - last) % MODULUS >= length do
    total, dropped = total - count, dropped + 1
    if dropped == closed then break end
    last, count = unpack(ENTRY, whole, rest + dropped * 8 - 8)
  end
  return dropped, total, last, count
end

-- In how many milliseconds a window frees that many units. Reads all entries only where the oldest is too small.
local function freed(whole, rest, closed, oldest, first, openLast, at, length, units)
  local last = closed > 0 and oldest or openLast
  if closed > 0 and units > first then
    local sum, i = first, 1
    while sum < units and i < closed do
      local entryLast, count = unpack(ENTRY, whole, rest + i * 8 - 8)
      last, sum, i = entryLast, sum + count, i + 1
    end
    if sum < units then last = openLast end
  end
  return length - (at - last) % MODULUS
end

local function step(key, mode, cost, perMinute, perDay)
  local hasDay, isRead = mode == 'k' or mode == 'd' or mode == 'p' or mode == 'l', mode == 'p' or mode == 'q'
  local isDebit = mode == 'd' or mode == 'b' or mode == 'l'
  local at, from, penalised = now, 43, false
  local minuteClosed, minuteBegin, minuteLast, minuteCount, minuteTotal, minuteOldest, minuteFirst = 0, 0, 0, 0, 0, 0, 0
  local dayClosed, dayBegin, dayLast, dayCount, dayTotal, dayOldest, dayFirst = 0, 0, 0, 0, 0, 0, 0
  local spanStart, strikes, due, pending, firstReturn, banEnd, promise, level = 0, 0, 0, 0, 0, 0, 0, 0
  local dropped = 0

  -- The state that was kept. One older than 11 days, or an unreadable one, is overwritten.
  -- Closed entries stay in `whole`, from `minuteRest` and `dayRest` on, but for the oldest of each window.
  local front = redis.pcall('GETRANGE', key, 0, 90)
  local whole, minuteRest, dayRest, dayEnd, movedBack = front, 43, 43, 43, false
  local version = #front >= 42 and front:byte() or 0
  if version > 0 and (isRead or mode == 'l') then
    local closed = front:byte(2) + front:byte(9) + front:byte(10) * 256
    if call('STRLEN', key) ~= (version == 1 and 42 or 75) + closed * 8 then version = 0 end
  end
  if (version == 1 or version == 2) and now - unpack('<I6', front, 3) < 1000000000 then
    version, minuteClosed, at, dayClosed, minuteBegin, minuteLast, minuteCount, minuteTotal, dayBegin, dayLast, dayCount,
      dayTotal = unpack(PLAIN, front)
    if version == 2 then
      spanStart, strikes, due, pending, firstReturn, banEnd, promise, level = unpack(PENALTY, front, 43)
      penalised, from = true, 76
    end
    local dayFrom = minuteClosed > 0 and from + 8 or from
    minuteRest = dayClosed > 0 and dayFrom + 8 or dayFrom
    dayRest = minuteClosed > 1 and minuteRest + minuteClosed * 8 - 8 or minuteRest
    dayEnd = dayClosed > 1 and dayRest + dayClosed * 8 - 8 or dayRest
    if dayEnd > 92 then whole = nil end
    if minuteClosed > 0 then minuteOldest, minuteFirst = unpack(ENTRY, front, from) end
    if dayClosed > 0 then dayOldest, dayFirst = unpack(ENTRY, front, dayFrom) end

    -- Brings it to the present. A clock that stepped back by more than a minute drops the minute and moves the rest.
    local back, rests = at - now, 1
    if back < 0 then
      at = now
    elseif back > 60000 then
      at, promise, movedBack = now, promise - back, true
      spanStart, firstReturn, banEnd = (spanStart - back) % MODULUS, (firstReturn - back) % MODULUS, (banEnd - back) % MODULUS
    end
    if penalised then
      rests = ahead(spanStart, at) + 3600000
      if pending > 0 then rests = max(rests, ahead(firstReturn, at) + 3600000) end
      if level > 0 then rests = max(rests, ahead(banEnd, at) + DAY) end
    end
    if movedBack then
      whole = whole or call('GET', key)
      local times = {}
      for position = dayRest, dayEnd - 8, 8 do
        local last, count = unpack(ENTRY, whole, position)
        times[#times + 1] = pack(ENTRY, (last - back) % MODULUS, count)
      end
      whole, minuteCount = sub(whole, 1, dayRest - 1) .. table.concat(times), 0
      dayBegin, dayLast, dayOldest = (dayBegin - back) % MODULUS, (dayLast - back) % MODULUS, (dayOldest - back) % MODULUS
    end
    if minuteCount == 0 or (at - minuteLast) % MODULUS >= MINUTE then
      if minuteClosed > 0 then whole = whole or call('GET', key) end
      minuteClosed, minuteBegin, minuteLast, minuteCount, minuteTotal = 0, 0, 0, 0, 0
    elseif minuteClosed > 0 and (at - minuteOldest) % MODULUS >= MINUTE then
      whole = whole or call('GET', key)
      local left
      left, minuteTotal, minuteOldest, minuteFirst = expire(whole, from, minuteRest, minuteClosed, at, MINUTE, minuteTotal)
      minuteClosed, minuteRest = minuteClosed - left, minuteRest + left * 8
    end
    if dayCount == 0 or (at - dayLast) % MODULUS >= DAY then
      if dayClosed > 0 then whole = whole or call('GET', key) end
      dayClosed, dayBegin, dayLast, dayCount, dayTotal = 0, 0, 0, 0, 0
    elseif dayClosed > 0 and (at - dayOldest) % MODULUS >= DAY then
      whole = whole or call('GET', key)
      local left
      left, dayTotal, dayOldest, dayFirst = expire(whole, dayFrom, dayRest, dayClosed, at, DAY, dayTotal)
      dayClosed, dayRest = dayClosed - left, dayRest + left * 8
    end
    if rests <= 0 or (mode == 'l' and penalised) then
      if level > 0 then dropped = max(0, ahead(banEnd, at)) end
      whole, penalised = whole or call('GET', key), false
    end
    if not penalised then
      spanStart, strikes, due, pending, firstReturn, banEnd, promise, level = 0, 0, 0, 0, 0, 0, 0, 0
    end
  end
  local minuteNew, dayNew = '', ''

  -- When the request will fit, if it does not now.
  local toMinute, toDay = cost, hasDay and cost or 0
  local minuteOver, dayOver = minuteTotal + cost - perMinute, dayTotal + toDay - perDay
  if isDebit then
    toMinute, toDay = min(cost, 4000000000 - minuteTotal), hasDay and min(perDay, 4000000000 - dayTotal) or 0
    minuteOver, dayOver = 0, 0
  end
  local outcome, release, retry, ban = 0, 0, 0, 0
  if minuteOver > 0 or dayOver > 0 then
    if minuteClosed > 0 and minuteOver > minuteFirst or dayClosed > 0 and dayOver > dayFirst then
      whole = whole or call('GET', key)
    end
    local minuteRelease, dayRelease = 0, 0
    if minuteOver > 0 then
      minuteRelease = freed(whole, minuteRest, minuteClosed, minuteOldest, minuteFirst, minuteLast, at, MINUTE, minuteOver)
    end
    if dayOver > 0 then
      dayRelease = freed(whole, dayRest, dayClosed, dayOldest, dayFirst, dayLast, at, DAY, dayOver)
    end
    outcome, release = dayRelease >= minuteRelease and 2 or 1, max(dayRelease, minuteRelease)
  end
  if level > 0 and not isDebit then ban = max(0, ahead(banEnd, at)) end

  local at32, isBanned = at % MODULUS, ban > 0
  if isBanned then
    if outcome == 0 then outcome = hasDay and dayOver >= minuteOver and 2 or 1 end
  elseif isRead then
    outcome = 0
  elseif outcome > 0 then
    -- Records a refusal.
    local retryAt = at + release
    if not penalised then
      whole, penalised, spanStart = whole or call('GET', key), true, at32
    end
    if outcome == 1 then
      retryAt = min(max(retryAt, promise + MINUTE / perMinute), retryAt + MINUTE)
      promise = retryAt
    end
    retry = retryAt - at
    if (at - spanStart) % MODULUS >= 60000 then
      spanStart, strikes = at32, 0
    end
    if pending > 0 and ahead(firstReturn, at) <= 0 then
      due, pending = due + pending, 0
    end
    if due == 0 and mode == 'k' and (at - spanStart) % MODULUS > 2000 then
      strikes = strikes + 1
      if strikes >= perMinute then
        if ahead(banEnd, at) + DAY <= 0 then level = 0 end
        level = min(level + 1, 4)
        ban = level == 1 and 60000 or level == 2 and 300000 or level == 3 and 900000 or 3600000
        banEnd, strikes, due, pending, firstReturn = (at + ban) % MODULUS, 0, 0, 0, 0
      end
    else
      if due > 0 then due = due - 1 end
      local returns = floor(retryAt)
      if pending > 0 then returns = min(returns, at + ahead(firstReturn, at)) end
      firstReturn, pending = returns % MODULUS, pending + 1
    end
  else
    -- Logs the cost.
    local joinsMinute = minuteCount == 0 or toMinute <= 0 or (at - minuteBegin) % MODULUS < 1000
    local joinsDay = dayCount == 0 or toDay <= 0 or (at - dayBegin) % MODULUS < 300000
    if not joinsMinute then
      whole = whole or call('GET', key)
      if minuteClosed == 0 then
        minuteOldest, minuteFirst = minuteLast, minuteCount
      else
        minuteNew = pack(ENTRY, minuteLast, minuteCount)
      end
      minuteClosed, minuteCount = minuteClosed + 1, 0
    end
    if not joinsDay then
      whole = whole or call('GET', key)
      if dayClosed == 0 then
        dayOldest, dayFirst = dayLast, dayCount
      else
        dayNew = pack(ENTRY, dayLast, dayCount)
      end
      dayClosed, dayCount = dayClosed + 1, 0
    end
    if toMinute > 0 then
      if minuteCount == 0 then minuteBegin = at32 end
      minuteLast, minuteCount, minuteTotal = at32, minuteCount + toMinute, minuteTotal + toMinute
    end
    if toDay > 0 then
      if dayCount == 0 then dayBegin = at32 end
      dayLast, dayCount, dayTotal = at32, dayCount + toDay, dayTotal + toDay
    end
  end

  -- A request during a ban changes nothing. Only a clock that stepped back is recorded.
  if not isRead and (not isBanned or movedBack) then
    local text = pack(PLAIN, penalised and 2 or 1, minuteClosed, at, dayClosed, minuteBegin, minuteLast, minuteCount,
      minuteTotal, dayBegin, dayLast, dayCount, dayTotal)
    local keep, slack = MINUTE, 61000
    if hasDay then keep, slack = DAY, 360000 end
    if penalised then
      text = text .. pack(PENALTY, spanStart, strikes, due, pending, firstReturn, banEnd, promise, level)
      keep = max(keep, ahead(spanStart, at) + 3600000)
      if pending > 0 then keep = max(keep, ahead(firstReturn, at) + 3600000) end
      if level > 0 then keep = max(keep, ahead(banEnd, at) + DAY) end
    end
    if whole then
      if minuteClosed > 0 then text = text .. pack(ENTRY, minuteOldest, minuteFirst) end
      if dayClosed > 0 then text = text .. pack(ENTRY, dayOldest, dayFirst) end
      if minuteClosed > 1 or dayClosed > 1 then
        local minuteEnd = minuteRest + (minuteClosed - 1) * 8 - #minuteNew
        text = text .. sub(whole, minuteRest, minuteEnd - 1) .. minuteNew .. sub(whole, dayRest, dayEnd - 1) .. dayNew
      end
      call('SET', key, text, 'PX', keep + slack)
    else
      -- Hits that join an entry keep the time to live that was set when the entry began, which is long enough.
      call('SETRANGE', key, 0, text)
      if outcome > 0 then call('PEXPIRE', key, keep + slack) end
    end
  end

  if isDebit then return pack(ANSWER, 0, 0, 0, 0, 0, 0, 0, dropped) end
  if ban > 0 then
    release = max(release, ban)
    outcome, retry = outcome + 2, release
  end
  local minuteReset, dayReset = 0, 0
  if minuteCount > 0 then
    minuteReset = freed(whole, minuteRest, minuteClosed, minuteOldest, minuteFirst, minuteLast, at, MINUTE, minuteTotal - perMinute + 1)
  end
  if dayCount > 0 then
    dayReset = freed(whole, dayRest, dayClosed, dayOldest, dayFirst, dayLast, at, DAY, dayTotal - perDay + 1)
  end
  local behind = at - now
  if isRead then
    if (at - spanStart) % MODULUS >= 60000 then strikes = 0 end
    return pack(ANSWER, 0, minuteTotal, minuteReset + behind, dayTotal, dayReset + behind, strikes, level,
      isBanned and ban + behind or 0)
  end
  return pack(ANSWER, outcome, max(0, perMinute - minuteTotal), minuteReset + behind,
    max(0, perDay - dayTotal), dayReset + behind, release + behind, math.ceil(retry + behind), ban + behind)
end

local replies = { pack('<d', now) }
for i = 1, #KEYS do
  local a = i * 4
  replies[i + 1] = step(KEYS[i], ARGV[a - 2], tonumber(ARGV[a - 1]), tonumber(ARGV[a]), tonumber(ARGV[a + 1]))
end
return table.concat(replies)
