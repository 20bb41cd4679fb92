-- One request for all connections of wrk: wrk … -s wrk_infer.lua URL -- BODY JSON_BYTES DELAY
-- BODY: a file with the body. JSON_BYTES: the length of its JSON. DELAY: milliseconds that a connection waits before
-- each request, on average; 0: it sends at once, which is full load. The last line of the output is JSON.

local mean

function init(args)
  local file = assert(io.open(args[1], "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  file:close()
  wrk.headers["Inference-Header-Content-Length"] = args[2]
  mean = tonumber(args[3])
  if mean > 0 then
    math.randomseed(tonumber(tostring({}):match("0x(%x+)"), 16) % 2147483647)  -- not the same in all threads
    function delay() return math.random(0, 2 * mean) end
  end
end

function done(summary, latency)
  local errors = summary.errors
  local shown = {
    requests = summary.requests, bytes = summary.bytes, duration_us = summary.duration,
    errors = errors.connect + errors.read + errors.write + errors.timeout, refused = errors.status,
    median_us = latency:percentile(50), p90_us = latency:percentile(90),
    p99_us = latency:percentile(99), max_us = latency.max,
  }
  local parts = {}
  for name, value in pairs(shown) do parts[#parts + 1] = string.format('"%s": %.0f', name, value) end
  print("{" .. table.concat(parts, ", ") .. "}")
end
