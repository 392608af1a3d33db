-- Compare and append. KEYS[1]: the game, and the channel of its slot.
-- ARGV: what the entry must begin with; its new head; the record; when it expires, in ms since the epoch; what the signal
-- says, which is the traced cause or nothing.
-- Answers 1, or what is there instead. Everything that can fail comes before the write.
local entry = redis.call('GET', KEYS[1])
if not entry or string.sub(entry, 1, #ARGV[1]) ~= ARGV[1] then
  return entry
end
-- The head is that beginning, a byte that tells the length of the state, and the state.
local head = #ARGV[1] + 1 + string.byte(entry, #ARGV[1] + 1)
-- Nobody reads before the script ends; and if it may not signal, nothing is written.
redis.call('SPUBLISH', KEYS[1], ARGV[5])
redis.call('SET', KEYS[1], ARGV[2] .. string.sub(entry, head + 1) .. ARGV[3], 'PXAT', ARGV[4])
return 1
