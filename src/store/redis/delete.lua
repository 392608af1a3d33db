-- Replaces a live game by its tombstone. KEYS[1]: the game, and the channel of its slot.
-- ARGV: what a live entry begins with; the tombstone; when that expires, in ms since the epoch.
-- Answers 1, or what is there instead.
local entry = redis.call('GET', KEYS[1])
if not entry or string.sub(entry, 1, #ARGV[1]) ~= ARGV[1] then
  return entry
end
-- Nobody reads before the script ends; and if it may not signal, nothing is written.
redis.call('SPUBLISH', KEYS[1], '')
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
return 1
