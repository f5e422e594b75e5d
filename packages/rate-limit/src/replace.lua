-- Writes ARGV[2] to KEYS[1], to live ARGV[3] milliseconds, if ARGV[1] still stands there. Returns whether it did.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
