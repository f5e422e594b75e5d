-- Reads the state of KEYS[1] and the time.
return { redis.call('GET', KEYS[1]), redis.call('TIME') }
