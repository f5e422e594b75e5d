-- Decides on requests, or logs what was admitted elsewhere: subject-state.ts, penalty.ts and window-log.ts in one atomic
-- step. Those say why; this does the same, step for step. The layout of a state is in state-codec.ts.
-- Few functions and no tables: both are made anew by each call, and cost it more than its arithmetic.
--
-- KEYS    one per request; requests for the same key are decided in their order
-- ARGV[1] the time in milliseconds, or nothing for Redis' own
-- ARGV    then per key: mode, cost, limit per minute, limit per day (0 for none)
--         mode a: client address; k: API key, which may be banned; b and d: debit to an address, or to a key, of `cost`
--         to the minute and of `limit per day` to the day, whether they fit or not
-- Returns the time (f64), then per key: outcome (u8: 0 admitted, 1 and 2 exceeded, 3 and 4 banned; odd: by the minute),
--         minute's remaining and reset, day's remaining and reset, release, retry, ban end; all u32, times as
--         milliseconds from now. A debit's answer means nothing
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

-- How far `time`, which is kept modulo 2^32, lies ahead of `origin`.
local function ahead(time, origin)
  return (time - origin + 2147483648) % MODULUS - 2147483648
end

-- All closed entries of both windows. Most requests need no more than the front, which holds the oldest of each.
local function load(key, front, from, minuteClosed, dayClosed)
  if minuteClosed + dayClosed == 0 then return '', '' end
  local whole = (minuteClosed > 1 or dayClosed > 1) and call('GET', key) or front
  local oldestDay = from + min(minuteClosed, 1) * 8
  local restMinute = oldestDay + min(dayClosed, 1) * 8
  local restDay = restMinute + max(minuteClosed - 1, 0) * 8
  return sub(whole, from, oldestDay - 1) .. sub(whole, restMinute, restDay - 1),
    sub(whole, oldestDay, restMinute - 1) .. sub(whole, restDay)
end

-- The entries that are still in the window, their number, the total with the open entry, and the oldest of them.
local function expire(text, at, length, total)
  local position, size, last, count = 1, #text, 0, 0
  while position < size do
    last, count = unpack(ENTRY, text, position)
    if (at - last) % MODULUS < length then break end
    total, position = total - count, position + 8
  end
  return sub(text, position), (size + 1 - position) / 8, total, last, count
end

-- In how many milliseconds a window lets go of that many units. `text` is read only where the oldest entry is too small.
local function freed(text, closed, oldest, first, openLast, at, length, units)
  local last = closed > 0 and oldest or openLast
  if closed > 0 and units > first then
    local sum, position = 0, 1
    repeat
      local entryLast, count = unpack(ENTRY, text, position)
      last, sum, position = entryLast, sum + count, position + 8
    until sum >= units or position > #text
    if sum < units then last = openLast end
  end
  return length - (at - last) % MODULUS
end

local function step(key, mode, cost, perMinute, perDay)
  local at, from, minute, day, penalised = now, 43, '', '', false
  local minuteClosed, minuteBegin, minuteLast, minuteCount, minuteTotal, minuteOldest, minuteFirst = 0, 0, 0, 0, 0, 0, 0
  local dayClosed, dayBegin, dayLast, dayCount, dayTotal, dayOldest, dayFirst = 0, 0, 0, 0, 0, 0, 0
  local spanStart, strikes, due, pending, firstReturn, banEnd, promise, level = 0, 0, 0, 0, 0, 0, 0, 0
  local loaded, movedBack = true, false

  -- The state as it was kept. What is older than 11 days, or no state at all, is written over.
  local front = redis.pcall('GETRANGE', key, 0, 90)
  local version = #front >= 42 and front:byte() or 0
  if (version == 1 or version == 2) and now - unpack('<I6', front, 3) < 1000000000 then
    version, minuteClosed, at, dayClosed, minuteBegin, minuteLast, minuteCount, minuteTotal, dayBegin, dayLast, dayCount,
      dayTotal = unpack(PLAIN, front)
    if version == 2 then
      spanStart, strikes, due, pending, firstReturn, banEnd, promise, level = unpack(PENALTY, front, 43)
      penalised, from = true, 76
    end
    if minuteClosed > 0 then minuteOldest, minuteFirst = unpack(ENTRY, front, from) end
    if dayClosed > 0 then dayOldest, dayFirst = unpack(ENTRY, front, minuteClosed > 0 and from + 8 or from) end

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
    loaded = minuteClosed <= 1 and dayClosed <= 1 or movedBack or rests <= 0
      or minuteClosed > 0 and (at - minuteOldest) % MODULUS >= MINUTE
      or dayClosed > 0 and (at - dayOldest) % MODULUS >= DAY
    if loaded then
      minute, day = load(key, front, from, minuteClosed, dayClosed)
    end
    if movedBack then
      local times = {}
      for position = 1, #day, 8 do
        local last, count = unpack(ENTRY, day, position)
        times[#times + 1] = pack(ENTRY, (last - back) % MODULUS, count)
      end
      day, minuteCount = table.concat(times), 0
      dayBegin, dayLast, dayOldest = (dayBegin - back) % MODULUS, (dayLast - back) % MODULUS, (dayOldest - back) % MODULUS
    end
    if minuteCount == 0 or (at - minuteLast) % MODULUS >= MINUTE then
      minute, minuteClosed, minuteBegin, minuteLast, minuteCount, minuteTotal = '', 0, 0, 0, 0, 0
    elseif minuteClosed > 0 and (at - minuteOldest) % MODULUS >= MINUTE then
      minute, minuteClosed, minuteTotal, minuteOldest, minuteFirst = expire(minute, at, MINUTE, minuteTotal)
    end
    if dayCount == 0 or (at - dayLast) % MODULUS >= DAY then
      day, dayClosed, dayBegin, dayLast, dayCount, dayTotal = '', 0, 0, 0, 0, 0
    elseif dayClosed > 0 and (at - dayOldest) % MODULUS >= DAY then
      day, dayClosed, dayTotal, dayOldest, dayFirst = expire(day, at, DAY, dayTotal)
    end
    if rests <= 0 or not penalised then
      penalised = false
      spanStart, strikes, due, pending, firstReturn, banEnd, promise, level = 0, 0, 0, 0, 0, 0, 0, 0
    end
  end

  -- When the request will fit, if it does not now.
  local hasDay, isDebit = mode == 'k' or mode == 'd', mode == 'b' or mode == 'd'
  local toMinute, toDay = cost, hasDay and cost or 0
  local minuteOver, dayOver = minuteTotal + cost - perMinute, dayTotal + toDay - perDay
  if isDebit then
    toMinute, toDay = min(cost, 4000000000 - minuteTotal), hasDay and min(perDay, 4000000000 - dayTotal) or 0
    minuteOver, dayOver = 0, 0
  end
  local outcome, release, retry, ban = 0, 0, 0, 0
  if minuteOver > 0 or dayOver > 0 then
    if not loaded and (minuteClosed > 0 and minuteOver > minuteFirst or dayClosed > 0 and dayOver > dayFirst) then
      minute, day = load(key, front, from, minuteClosed, dayClosed)
      loaded = true
    end
    local minuteRelease, dayRelease = 0, 0
    if minuteOver > 0 then
      minuteRelease = freed(minute, minuteClosed, minuteOldest, minuteFirst, minuteLast, at, MINUTE, minuteOver)
    end
    if dayOver > 0 then
      dayRelease = freed(day, dayClosed, dayOldest, dayFirst, dayLast, at, DAY, dayOver)
    end
    outcome, release = dayRelease >= minuteRelease and 2 or 1, max(dayRelease, minuteRelease)
  end
  if level > 0 and not isDebit then ban = max(0, ahead(banEnd, at)) end

  local at32, isBanned = at % MODULUS, ban > 0
  if isBanned then
    if outcome == 0 then outcome = hasDay and dayOver >= minuteOver and 2 or 1 end
  elseif outcome > 0 then
    -- Books a refusal.
    local retryAt = at + release
    if not penalised then
      if not loaded then
        minute, day = load(key, front, from, minuteClosed, dayClosed)
        loaded = true
      end
      penalised, spanStart = true, at32
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
    if not loaded and not (joinsMinute and joinsDay) then
      minute, day = load(key, front, from, minuteClosed, dayClosed)
      loaded = true
    end
    if not joinsMinute then
      if minuteClosed == 0 then minuteOldest, minuteFirst = minuteLast, minuteCount end
      minute, minuteClosed, minuteCount = minute .. pack(ENTRY, minuteLast, minuteCount), minuteClosed + 1, 0
    end
    if not joinsDay then
      if dayClosed == 0 then dayOldest, dayFirst = dayLast, dayCount end
      day, dayClosed, dayCount = day .. pack(ENTRY, dayLast, dayCount), dayClosed + 1, 0
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

  -- A request during a ban leaves no trace, but that the clock stepped back.
  if not isBanned or movedBack then
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
    if loaded then
      if minuteClosed + dayClosed > 0 then
        text = text .. sub(minute, 1, 8) .. sub(day, 1, 8) .. sub(minute, 9) .. sub(day, 9)
      end
      call('SET', key, text, 'PX', keep + slack)
    else
      -- Hits that join an entry leave the time to live as it was set when the entry began, which is long enough.
      call('SETRANGE', key, 0, text)
      if outcome > 0 then call('PEXPIRE', key, keep + slack) end
    end
  end

  if isDebit then return pack(ANSWER, 0, 0, 0, 0, 0, 0, 0, 0) end
  if ban > 0 then
    release = max(release, ban)
    outcome, retry = outcome + 2, release
  end
  local minuteReset, dayReset = 0, 0
  if minuteCount > 0 then
    minuteReset = freed(minute, minuteClosed, minuteOldest, minuteFirst, minuteLast, at, MINUTE, minuteTotal - perMinute + 1)
  end
  if dayCount > 0 then
    dayReset = freed(day, dayClosed, dayOldest, dayFirst, dayLast, at, DAY, dayTotal - perDay + 1)
  end
  local behind = at - now
  return pack(ANSWER, outcome, max(0, perMinute - minuteTotal), minuteReset + behind,
    max(0, perDay - dayTotal), dayReset + behind, release + behind, math.ceil(retry + behind), ban + behind)
end

local replies = { pack('<d', now) }
for i = 1, #KEYS do
  local a = i * 4
  replies[i + 1] = step(KEYS[i], ARGV[a - 2], tonumber(ARGV[a - 1]), tonumber(ARGV[a]), tonumber(ARGV[a + 1]))
end
return table.concat(replies)
