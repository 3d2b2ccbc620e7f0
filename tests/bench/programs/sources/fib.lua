-- SPDX-License-Identifier: Apache-2.0
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local budget = tonumber(arg[1]) / 1000
while os.clock() < budget do fib(27) end
