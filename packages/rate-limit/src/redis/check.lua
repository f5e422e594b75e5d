-- Decides on requests, or debits, reads or pardons: subject-state.ts, penalty.ts and window-log.ts, step for step, in one
-- atomic call. They explain why. Few functions and no tables: each call makes them anew, at more cost than its arithmetic.
--
-- KEYS    one per subject, each once
-- ARGV[1] the time in milliseconds, or nothing for Redis' own
-- ARGV    then per key the number of its requests, which are decided in this order, and per request: mode, cost, limit
--         per minute, limit per day (0 for none). The modes, of an API key and of a client address, which has no day and
--         is never banned:
--           k, a  check
--           d, b  debit `cost` to the minute and `limit per day` to the day, whether they fit or not
--           r, c  debit what is missing of so much
--           p, q  read, with the cost 1
--           s     set the ban of a key: its level in `limit per minute`, the time it has left in `cost`
--           l     drop refusals, level and ban of a key, with the cost 0 and the limit 0 per day
-- Returns the time (f64), then per request, in the order of ARGV, a u8 and seven u32, with times in milliseconds from now:
--           check   0 admitted, 1 and 2 exceeded, 3 and 4 banned, 5 and 6 banned by this request (odd: by the minute);
--                   remaining and reset of the minute, of the day; release; when to come back, or the level of the ban;
--                   ban end
--           read    0; used and reset of the minute, of the day; refusals that count, level of the ban, ban end
--           others  0; six without meaning; the end of the ban that was dropped
--
-- A state, little endian. A key that was rarely used and never refused takes 42 bytes: one small allocation.
--    0  u8   version: 1, or 2 where refusals follow
--    1  u8   closed entries of the minute
--    2  u48  time of the last change, milliseconds since the epoch
--    8  u16  closed entries of the day
--   10  u32  minute: open entry's beginning, last hit, count; total
--   26  u32  day: the same
--  [42  u32  the end of the queue, or the time of the last change where there is none, and an hour
--   46  u32  refusals that cease to count in the next span, and in the three after it
--   62  u32  ban end
--   66  u32  refusals that cease to count in the two spans after those
--   74  u8   ban level]
--       the oldest closed entry of the minute, then of the day, where there are any: u32 last hit, u32 count
--       the other closed entries of the minute, then of the day, which most requests need not read
-- Every other time is kept modulo 2^32 ms (49 days) and lies within 25 hours of the time of the last change.
--
-- Release 1.0 wrote the same, but for what it kept of refusals: a time that had passed, where the end of the queue lies
-- ahead; four u32, where refusals are counted; an f64, where two more are. Its states have no queue and no refusals
-- here. It takes ours for those of a caller whose refusals are long over: so both may serve at the same time.
local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

local now = tonumber(ARGV[1])
if not now then
  local clock = call('TIME')
  now = clock[1] * 1000 + floor(clock[2] / 1000)
end

-- How far `time`, which is kept modulo 2^32, is ahead of `origin`.
local function ahead(time, origin)
  return (time - origin + 2147483648) % 4294967296 - 2147483648
end

-- All of a state. Of one that has been cut or extended, which is noted, zeros.
local isDamaged = false
local function read(key, length)
  local whole = call('GET', key)
  if whole and #whole == length then return whole end
  isDamaged = true
  return string.rep('\0', length)
end

-- Skips the entries that have left a window. Returns their number, the total without them, and the oldest one left.
local function expire(whole, oldest, rest, closed, at, length, total)
  local dropped, last, count = 0, unpack('<I4I4', whole, oldest)
  while (at - last) % 4294967296 >= length do
    total, dropped = total - count, dropped + 1
    if dropped == closed then break end
    last, count = unpack('<I4I4', whole, rest + dropped * 8 - 8)
  end
  return dropped, total, last, count
end

-- In how many milliseconds a window frees that many units, and how many it frees then. Reads all entries only where the
-- oldest is too small.
local function freed(whole, rest, closed, oldest, first, openLast, total, at, length, units)
  local last, sum = openLast, total
  if closed > 0 then
    last, sum = oldest, first
    local i = 1
    while sum < units and i < closed do
      local entryLast, count = unpack('<I4I4', whole, rest + i * 8 - 8)
      last, sum, i = entryLast, sum + count, i + 1
    end
    if sum < units then last, sum = openLast, total end
  end
  return length - (at - last) % 4294967296, sum
end

-- Decides on `requests` of one key, whose arguments begin at `from`, and appends their results. Returns whether the state
-- cannot be read: then nothing was written.
local function step(key, from, requests, results, position, isFresh)
  local PLAIN, PENALTY, ENTRY = '<BBI6I2I4I4I4I4I4I4I4I4', '<I4I4I4I4I4I4I4I4B', '<I4I4'
  local RESULT = '<BI4I4I4I4I4I4I4'
  local MODULUS, MINUTE, DAY, HOUR = 4294967296, 60000, 86400000, 3600000
  local at, header, moved = now, 43, false
  local minuteClosed, minuteBegin, minuteLast, minuteCount, minuteTotal, minuteOldest, minuteFirst = 0, 0, 0, 0, 0, 0, 0
  local dayClosed, dayBegin, dayLast, dayCount, dayTotal, dayOldest, dayFirst = 0, 0, 0, 0, 0, 0, 0
  local queueEnd, banEnd, level = 0, 0, 0
  local refusals1, refusals2, refusals3, refusals4, refusals5, refusals6, refusals = 0, 0, 0, 0, 0, 0, 0

  -- The state that was kept. One older than 11 days, or an unreadable one, is overwritten.
  -- Closed entries stay in `whole`, from `minuteRest` and `dayRest` on, but for the oldest of each window.
  isDamaged = false
  local front = isFresh and '' or redis.pcall('GETRANGE', key, 0, 90)
  local whole, length, minuteRest, dayRest = '', 0, 43, 43
  local version = #front >= 42 and front:byte() or 0
  if (version == 1 or version == 2) and now - unpack('<I6', front, 3) < 1000000000 then
    version, minuteClosed, at, dayClosed, minuteBegin, minuteLast, minuteCount, minuteTotal, dayBegin, dayLast, dayCount,
      dayTotal = unpack(PLAIN, front)
    header = version == 2 and 76 or 43
    length = header - 1 + (minuteClosed + dayClosed) * 8
    if #front ~= min(length, 91) then return true end
    whole = length <= 91 and front or nil
    local dayFrom = minuteClosed > 0 and header + 8 or header
    minuteRest = dayClosed > 0 and dayFrom + 8 or dayFrom
    dayRest = minuteClosed > 1 and minuteRest + minuteClosed * 8 - 8 or minuteRest
    if minuteClosed > 0 then minuteOldest, minuteFirst = unpack(ENTRY, front, header) end
    if dayClosed > 0 then dayOldest, dayFirst = unpack(ENTRY, front, dayFrom) end

    -- A window whose last request lies behind the last change, or so far before it that it would have been dropped, is
    -- damaged: when that time comes it would count.
    if minuteCount > 0 and (at - minuteLast) % MODULUS >= MINUTE or dayCount > 0 and (at - dayLast) % MODULUS >= DAY then
      return true
    end

    -- Brings it to the present. A clock that stepped back by more than a minute drops the minute and moves the rest.
    local kept, back = at, at - now
    if back < 0 or back > 60000 then at, moved = now, back > 0 end
    if version == 2 then
      local mark
      mark, refusals1, refusals2, refusals3, refusals4, banEnd, refusals5, refusals6, level = unpack(PENALTY, front, 43)
      if level == 0 then
        banEnd = 0
      elseif ahead(banEnd, kept) > HOUR then
        return true
      elseif moved then
        banEnd = (banEnd - back) % MODULUS
      end
      if not moved and ahead(mark, kept) > 0 then
        queueEnd = kept + ahead(mark, kept) - HOUR
        if queueEnd <= at then queueEnd = 0 end
        for _ = 1, min(6, floor(at / 10000) - floor(kept / 10000)) do
          refusals1, refusals2, refusals3, refusals4, refusals5, refusals6 =
            refusals2, refusals3, refusals4, refusals5, refusals6, 0
        end
        refusals = refusals1 + refusals2 + refusals3 + refusals4 + refusals5 + refusals6
      else
        refusals1, refusals2, refusals3, refusals4, refusals5, refusals6 = 0, 0, 0, 0, 0, 0
      end
      if level > 0 and ahead(banEnd, at) + DAY <= 0 then banEnd, level = 0, 0 end
    end
    if moved then
      whole = whole or read(key, length)
      local times = {}
      for entry = dayRest, length - 7, 8 do
        local last, count = unpack(ENTRY, whole, entry)
        times[#times + 1] = pack(ENTRY, (last - back) % MODULUS, count)
      end
      whole, minuteCount = sub(whole, 1, dayRest - 1) .. table.concat(times), 0
      dayBegin, dayLast, dayOldest = (dayBegin - back) % MODULUS, (dayLast - back) % MODULUS, (dayOldest - back) % MODULUS
    end
    if minuteCount == 0 or (at - minuteLast) % MODULUS >= MINUTE then
      if minuteClosed > 0 then whole = whole or read(key, length) end
      minuteClosed, minuteBegin, minuteLast, minuteCount, minuteTotal = 0, 0, 0, 0, 0
    elseif minuteClosed > 0 and (at - minuteOldest) % MODULUS >= MINUTE then
      whole = whole or read(key, length)
      local left
      left, minuteTotal, minuteOldest, minuteFirst = expire(whole, header, minuteRest, minuteClosed, at, MINUTE, minuteTotal)
      minuteClosed, minuteRest = minuteClosed - left, minuteRest + left * 8
    end
    if dayCount == 0 or (at - dayLast) % MODULUS >= DAY then
      if dayClosed > 0 then whole = whole or read(key, length) end
      dayClosed, dayBegin, dayLast, dayCount, dayTotal = 0, 0, 0, 0, 0
    elseif dayClosed > 0 and (at - dayOldest) % MODULUS >= DAY then
      whole = whole or read(key, length)
      local left
      left, dayTotal, dayOldest, dayFirst = expire(whole, dayFrom, dayRest, dayClosed, at, DAY, dayTotal)
      dayClosed, dayRest = dayClosed - left, dayRest + left * 8
    end
  end

  local at32, behind, hasDay, isChanged, outlives = at % MODULUS, at - now, false, false, false
  for request = 1, requests do
    local mode, cost = ARGV[from], tonumber(ARGV[from + 1])
    local perMinute, perDay = tonumber(ARGV[from + 2]), tonumber(ARGV[from + 3])
    from = from + 4
    hasDay = mode ~= 'a' and mode ~= 'b' and mode ~= 'c' and mode ~= 'q'
    local isRead, isCheck = mode == 'p' or mode == 'q', mode == 'k' or mode == 'a'
    local ban = level > 0 and max(0, ahead(banEnd, at)) or 0
    local outcome, release, retry, dropped = 0, 0, 0, 0

    if mode == 'l' then
      dropped, isChanged, queueEnd, banEnd, level, refusals = ban, true, 0, 0, 0, 0
      refusals1, refusals2, refusals3, refusals4, refusals5, refusals6 = 0, 0, 0, 0, 0, 0
    elseif mode == 's' then
      if level == 0 or cost - behind > ban then banEnd = (now + cost) % MODULUS end
      level, isChanged, outlives = max(level, perMinute), true, true
    else
      -- When the request will fit, if it does not now.
      local toMinute, toDay = cost, hasDay and cost or 0
      local minuteOver, dayOver, minuteFreed, dayFreed = 0, 0, 0, 0
      if isCheck or isRead then
        minuteOver, dayOver = minuteTotal + cost - perMinute, dayTotal + toDay - perDay
        local minuteRelease, dayRelease = 0, 0
        if minuteOver > 0 then
          if minuteClosed > 0 and minuteOver > minuteFirst then whole = whole or read(key, length) end
          minuteRelease, minuteFreed = freed(whole, minuteRest, minuteClosed, minuteOldest, minuteFirst, minuteLast,
            minuteTotal, at, MINUTE, minuteOver)
        end
        if dayOver > 0 then
          if dayClosed > 0 and dayOver > dayFirst then whole = whole or read(key, length) end
          dayRelease, dayFreed = freed(whole, dayRest, dayClosed, dayOldest, dayFirst, dayLast, dayTotal, at, DAY, dayOver)
        end
        if minuteOver > 0 or dayOver > 0 then
          outcome, release = dayRelease >= minuteRelease and 2 or 1, max(dayRelease, minuteRelease)
        end
      else
        if mode == 'r' or mode == 'c' then toMinute, perDay = max(0, cost - minuteTotal), max(0, perDay - dayTotal) end
        toMinute, toDay = min(toMinute, 4000000000 - minuteTotal), hasDay and min(perDay, 4000000000 - dayTotal) or 0
      end

      if isCheck and ban > 0 then
        -- A request during a ban changes nothing. Only a clock that stepped back is recorded.
        if outcome == 0 then outcome = hasDay and dayOver >= minuteOver and 2 or 1 end
        outcome, isChanged = outcome + 2, isChanged or moved
      elseif isCheck and outcome > 0 then
        -- Records a refusal.
        retry = release
        local room = outcome == 2 and dayFreed - dayOver + cost or minuteFreed - minuteOver + cost
        local sinceHit = minuteTotal > 0 and (at - minuteLast) % MODULUS or at
        if outcome == 1 and not (sinceHit >= 200 and (refusals + 1) * cost <= room) then
          local releaseAt = at + release
          local queue = queueEnd == 0 and releaseAt or max(releaseAt, queueEnd + MINUTE / perMinute)
          queue = min(queue, releaseAt + MINUTE)
          local drawn = ((at % 2097143) * 31 + (queueEnd % 2097143) * 17 + refusals * 7) % 2097143
          drawn = drawn * 1597334677 % 2147483647 * 48271 % 2147483647
          retry = release + floor((queue - releaseAt) * (drawn / 2147483647))
          queueEnd = floor(queue + drawn % 1024 / 1024)
        end
        local announced = now + ceil((retry + behind) / 1000) * 1000
        local span = floor((announced - 2000) / 10000) - floor(at / 10000)
        if span > 0 then refusals = refusals + 1 end
        if span == 1 then refusals1 = refusals1 + 1
        elseif span == 2 then refusals2 = refusals2 + 1
        elseif span == 3 then refusals3 = refusals3 + 1
        elseif span == 4 then refusals4 = refusals4 + 1
        elseif span == 5 then refusals5 = refusals5 + 1
        elseif span > 5 then refusals6 = refusals6 + 1
        end
        if hasDay and refusals > max(2 * perMinute, 250) then
          level = min(level + 1, 4)
          ban = level == 1 and 60000 or level == 2 and 300000 or level == 3 and 900000 or HOUR
          banEnd, refusals, outcome = (at + ban) % MODULUS, 0, outcome + 4
          refusals1, refusals2, refusals3, refusals4, refusals5, refusals6 = 0, 0, 0, 0, 0, 0
        end
        isChanged, outlives = true, true
      elseif not isRead then
        -- Logs the cost.
        isChanged = true
        if toMinute > 0 then
          if minuteCount > 0 and (at - minuteBegin) % MODULUS >= 1000 then
            whole = whole or read(key, length)
            if minuteClosed == 0 then
              minuteOldest, minuteFirst = minuteLast, minuteCount
            else
              local stop = minuteRest + minuteClosed * 8 - 8
              whole = sub(whole, 1, stop - 1) .. pack(ENTRY, minuteLast, minuteCount) .. sub(whole, stop)
              dayRest = dayRest + 8
            end
            minuteClosed, minuteCount = minuteClosed + 1, 0
          end
          if minuteCount == 0 then minuteBegin = at32 end
          minuteLast, minuteCount, minuteTotal = at32, minuteCount + toMinute, minuteTotal + toMinute
        end
        if toDay > 0 then
          if dayCount > 0 and (at - dayBegin) % MODULUS >= 300000 then
            whole = whole or read(key, length)
            if dayClosed == 0 then
              dayOldest, dayFirst = dayLast, dayCount
            else
              whole = sub(whole, 1, dayRest + dayClosed * 8 - 9) .. pack(ENTRY, dayLast, dayCount)
            end
            dayClosed, dayCount = dayClosed + 1, 0
          end
          if dayCount == 0 then dayBegin = at32 end
          dayLast, dayCount, dayTotal = at32, dayCount + toDay, dayTotal + toDay
        end
      end
    end

    local result
    if isCheck or isRead then
      local minuteReset, dayReset = behind, behind
      if minuteCount > 0 then
        minuteReset = behind + freed(whole, minuteRest, minuteClosed, minuteOldest, minuteFirst, minuteLast, minuteTotal, at,
          MINUTE, minuteTotal - perMinute + 1)
      end
      if dayCount > 0 then
        dayReset = behind + freed(whole, dayRest, dayClosed, dayOldest, dayFirst, dayLast, dayTotal, at, DAY,
          dayTotal - perDay + 1)
      end
      if isRead then
        result = pack(RESULT, 0, minuteTotal, minuteReset, dayTotal, dayReset, refusals, level, ban > 0 and ban + behind or 0)
      else
        if outcome > 2 then release, retry = max(release, ban), level - behind end
        result = pack(RESULT, outcome, max(0, perMinute - minuteTotal), minuteReset, max(0, perDay - dayTotal), dayReset,
          release + behind, retry + behind, ban + behind)
      end
    else
      result = pack(RESULT, 0, 0, 0, 0, 0, 0, 0, dropped)
    end
    results[position + request] = result
  end

  if isDamaged or not isChanged then return isDamaged end
  local isPenalised = level > 0 or queueEnd > 0 or refusals > 0
  local text = pack(PLAIN, isPenalised and 2 or 1, minuteClosed, at, dayClosed, minuteBegin, minuteLast, minuteCount,
    minuteTotal, dayBegin, dayLast, dayCount, dayTotal)
  local keep, slack = MINUTE, 61000
  if hasDay then keep, slack = DAY, 360000 end
  if isPenalised then
    text = text .. pack(PENALTY, (max(queueEnd, at) + HOUR) % MODULUS, refusals1, refusals2, refusals3, refusals4, banEnd,
      refusals5, refusals6, level)
    keep = max(keep, queueEnd - at, level > 0 and ahead(banEnd, at) + DAY or 0)
  end
  if not whole and isPenalised ~= (header == 76) then
    whole = read(key, length)
    if isDamaged then return true end
  end
  if not whole then
    -- Hits that join an entry keep the time to live that was set when the entry began, which is long enough.
    call('SETRANGE', key, 0, text)
    if outlives then call('PEXPIRE', key, keep + slack) end
    return
  end
  if minuteClosed > 0 then text = text .. pack(ENTRY, minuteOldest, minuteFirst) end
  if dayClosed > 0 then text = text .. pack(ENTRY, dayOldest, dayFirst) end
  if minuteClosed > 1 then text = text .. sub(whole, minuteRest, minuteRest + minuteClosed * 8 - 9) end
  if dayClosed > 1 then text = text .. sub(whole, dayRest, dayRest + dayClosed * 8 - 9) end
  call('SET', key, text, 'PX', keep + slack)
end

-- A state that cannot be read is none, for its key alone.
local results, from, position = { pack('<d', now) }, 2, 1
for i = 1, #KEYS do
  local requests = tonumber(ARGV[from])
  if step(KEYS[i], from + 1, requests, results, position, false) then
    step(KEYS[i], from + 1, requests, results, position, true)
  end
  from, position = from + 1 + requests * 4, position + requests
end
return table.concat(results)
