-- SPDX-License-Identifier: Apache-2.0
-- A program that knows its own stack, as script_truth.py does: calls of many kinds, nested at random, end in a loop. Before the
-- loop it writes its chain of debug.getinfo() under a number and makes that number the name of its process, so that each sample
-- says which chain it must show.
--
--     lua script_truth.lua TRUTH SECONDS SPIN_MS SEED [KIND...]
--
-- Times are CPU times. TRUTH: lines of JSON: {"n": 12, "chain": [[function, file, line], ...]}, the innermost first. Functions
-- have no names, so they are called by where they begin, as debug.traceback() calls those it has no name for. Functions of C are
-- native frames, so they are left out.
--
-- No coroutine yields across pcall(): once it is resumed, what has called that pcall() has no native frame.

local path, seconds, spin_ms, seed = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
local truth = assert(io.open(path, "w"))
truth:setvbuf("line")
math.randomseed(seed)

local number, resumed_by = 0, {}

-- The functions of one coroutine, from a level on.
local function add_chain(chain, thread, level)
	while true do
		local info = debug.getinfo(thread, level, "Sl")
		if not info then
			return
		end
		if info.what ~= "C" then
			local file = info.source:sub(1, 1) == "@" and info.source:sub(2) or info.short_src
			local name = info.what == "main" and "main chunk"
				or string.format("function <%s:%d>", file:match("[^/]*$"), info.linedefined)
			chain[#chain + 1] = string.format("[%q, %q, %d]", name, file, info.currentline)
		end
		level = level + 1
	end
end

local function spin()
	local chain, thread = {}, coroutine.running()
	number = number + 1
	-- a finalizer may spin, too, from here on
	local mine = number
	add_chain(chain, thread, 2)
	while resumed_by[thread] do
		thread = resumed_by[thread]
		add_chain(chain, thread, 0)
	end
	truth:write(string.format('{"n": %d, "chain": [%s]}\n', mine, table.concat(chain, ", ")))
	local comm = io.open("/proc/self/comm", "w")
	local stop = os.clock() + spin_ms / 1000
	comm:write("n" .. mine)
	comm:close()
	while os.clock() < stop do
		local sum = 0
		for i = 1, 200 do
			sum = sum + i
		end
	end
	comm = io.open("/proc/self/comm", "w")
	comm:write("between")
	comm:close()
end

local kinds, names = {}, {}

local function go(depth)
	if depth <= 0 then
		spin()
	else
		kinds[names[math.random(#names)]](depth - 1)
	end
	return 0
end

-- Resume a coroutine, and keep who has.
local function resume(thread, ...)
	resumed_by[thread] = coroutine.running()
	local ok, problem = coroutine.resume(thread, ...)
	assert(ok, problem)
end

function kinds.call(depth)
	go(depth)
end

function kinds.tail_call(depth)
	return go(depth)
end

function kinds.method(depth)
	local object = {}
	function object:work()
		go(depth)
	end
	object:work()
end

function kinds.closure(depth)
	(function()
		go(depth)
	end)()
end

function kinds.varargs(depth)
	local function some(...)
		go((select(1, ...)))
	end
	some(depth, 2, nil, 4)
end

function kinds.pcall(depth)
	assert(pcall(go, depth))
end

function kinds.xpcall_handler(depth)
	xpcall(function()
		error("wanted")
	end, function()
		go(depth)
	end)
end

function kinds.error_caught(depth)
	pcall(function()
		go(depth)
		error("wanted")
	end)
end

function kinds.coroutine(depth)
	resume(coroutine.create(function()
		go(depth)
	end))
end

function kinds.coroutine_resumed(depth)
	local thread = coroutine.create(function()
		local function inner()
			coroutine.yield(1)
			go(depth)
		end
		inner()
	end)
	resume(thread)
	resume(thread)
end

function kinds.wrap(depth)
	local outer = coroutine.running()
	coroutine.wrap(function()
		resumed_by[coroutine.running()] = outer
		go(depth)
	end)()
end

function kinds.sort(depth)
	local once = true
	table.sort({ 2, 1 }, function(a, b)
		if once then
			once = false
			go(depth)
		end
		return a < b
	end)
end

function kinds.gsub(depth)
	string.gsub("x", "x", function()
		go(depth)
	end)
end

function kinds.load(depth)
	_G.go = go
	load("local depth = ...\n\ngo(depth)")(depth)
end

function kinds.load_named(depth)
	_G.go = go
	load("go(...)", "=made")(depth)
end

function kinds.load_nested(depth)
	_G.go = go
	load("return function(depth)\n\tgo(depth)\nend")()(depth)
end

function kinds.iterator(depth)
	for _ in
		function(_, last)
			if not last then
				go(depth)
				return 1
			end
		end
	do
	end
end

function kinds.hook(depth)
	local once = true
	debug.sethook(function()
		if once then
			once = false
			debug.sethook()
			go(depth)
		end
	end, "l")
	local _ = 1
end

function kinds.finalizer(depth)
	local done
	setmetatable({}, {
		__gc = function()
			if not done then
				done = true
				go(depth)
			end
		end,
	})
	collectgarbage()
end

function kinds.to_be_closed(depth)
	local _ <close> = setmetatable({}, {
		__close = function()
			go(depth)
		end,
	})
end

function kinds.long_lines(depth)
	-- more instructions than a line of the table of marks has
	local t = {}
	for i = 1, 2 do
		t[i] = { i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i + 10, i * 2, i * 3, i * 4, i * 5, i * 6, i * 7 }
		t[i] = { i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i + 10, i * 2, i * 3, i * 4, i * 5, i * 6, i * 7 }
		t[i] = { i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i + 10, i * 2, i * 3, i * 4, i * 5, i * 6, i * 7 }
		t[i] = { i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i + 10, i * 2, i * 3, i * 4, i * 5, i * 6, i * 7 }
		t[i] = { i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i + 10, i * 2, i * 3, i * 4, i * 5, i * 6, i * 7 }
	end
	go(depth)
	t[1] = 2
end

-- Functions that are called by an operator.
for _, event in ipairs({ "__index", "__newindex", "__add", "__concat", "__unm", "__len", "__eq", "__lt", "__le", "__call" }) do
	kinds["meta" .. event] = function(depth)
		local once = true
		local meta = {
			[event] = function()
				if once then
					once = false
					go(depth)
				end
				return 1
			end,
		}
		local a, b = setmetatable({}, meta), setmetatable({}, meta)
		if event == "__index" then
			local _ = a.x
		elseif event == "__newindex" then
			a.x = 1
		elseif event == "__add" then
			local _ = a + 1
		elseif event == "__concat" then
			local _ = "x" .. a
		elseif event == "__unm" then
			local _ = -a
		elseif event == "__len" then
			local _ = #a
		elseif event == "__eq" then
			local _ = a == b
		elseif event == "__lt" then
			local _ = a < b
		elseif event == "__le" then
			local _ = a <= b
		else
			a()
		end
	end
end

for name in pairs(kinds) do
	names[#names + 1] = name
end
if arg[5] then
	names = { table.unpack(arg, 5) }
end
table.sort(names)
while os.clock() < seconds do
	go(math.random(1, 13))
end
