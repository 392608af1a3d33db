-- Puts a layout, or keeps the one that is there for longer. KEYS[1]: the layout.
-- ARGV: what is stored; until when, in ms since the epoch.
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PXAT', ARGV[2])
return redis.call('PEXPIREAT', KEYS[1], ARGV[2], 'GT')
