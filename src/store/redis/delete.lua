-- Replaces a live game by its tombstone. KEYS[1]: the game, and the channel of its slot.
-- ARGV: what a live entry begins with; the tombstone; when that expires, in ms since the epoch.
-- Answers whether a live game was there.
local entry = redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1)
if entry ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
redis.call('SPUBLISH', KEYS[1], '')
return 1
