#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code that is made at run time and runs in the frame of its entry is walked to main: regular expressions of PCRE2, what qemu
translates, guile, PHP, and LuaJIT's traces; and that of Erlang, which has stacks of its own."""

import os
import random
import shutil
import subprocess

from fpless_run import TIMEOUT_S
from root_case import RootCase, main
from waiting import wait_until_busy

ENOUGH = 100  # samples


class MadeCode(RootCase):
    def is_made(self, frame):
        return "object" not in frame

    def sample(self, command, length, *options, **more):
        """Of the stacks of a process that goes on: those whose leaf is code made at run time, and how many samples."""
        process = self.start(*command, stdout=subprocess.DEVNULL, **more)
        wait_until_busy(process.pid, 200)
        run = self.profile_while_busy([process.pid], 200 * length, "-F", "999", *options, "-p", str(process.pid))
        process.kill()
        made = [stack for stack in run.stacks if stack["user"] and self.is_made(stack["user"][0])]
        return made, sum(stack["count"] for stack in made)

    def check_whole(self, command, through, *options, **more):
        """Such stacks are complete, and go through the function @through. Returns them."""
        made, nr = self.until_seen("samples of code made at run time", lambda length: self.sample(command, length, *options, **more),
                                   lambda seen: seen[1] >= ENOUGH)
        whole = [stack for stack in made if stack["stop"] == "outermost"]
        print(f"{nr} samples, {sum(stack['count'] for stack in whole)} complete")
        self.assert_share(sum(stack["count"] for stack in whole), nr, 0.998, [stack for stack in made if stack["stop"] != "outermost"])
        for stack in whole:
            self.assertEqual(stack["user"][0]["origin"], "jit", stack)
            self.assertIn(through, [frame["symbol"] for frame in stack["user"]], stack)
        return whole

    def check_made(self, command, through, *options, **more):
        """The same; without methods the stacks are not complete."""
        self.check_whole(command, through, *options, **more)
        for option in "--no-jit", "--unwind=cfi":
            with self.subTest(option):
                made, nr = self.until_seen("samples without methods", lambda length, option=option: self.sample(
                    command, length, *options, option, **more), lambda seen: seen[1] >= ENOUGH)
                self.assertLess(sum(stack["count"] for stack in made if stack["stop"] == "outermost"), nr / 2)
                self.assertFalse(any(frame["origin"] == "jit" for stack in made for frame in stack["user"]))

    def test_grep(self):
        shown = shutil.which("grep") and subprocess.run(["grep", "-P", "a"], input=b"a", capture_output=True, timeout=TIMEOUT_S,
                                                        check=False)
        if not shown or shown.returncode:
            self.skipTest("no grep with -P")
        text = self.path("text")
        letters = random.Random(1)
        with open(text, "w", encoding="ascii") as file:
            for _ in range(1000):
                file.write("".join(letters.choices("abcdefgh0123 ", k=100)) + "\n")
        # no line matches: the expression is tried at each place; the file is named often enough to last until grep is killed
        command = ["grep", "-c", "-P", r"(?:[a-f ]+\d)+(x|yz)*(h\d+ )\1?[q-z]", *[text] * 20000]
        self.check_made(command, "pcre2_jit_match_8", env={**os.environ, "LC_ALL": "C.UTF-8"})

    def test_qemu(self):
        if not shutil.which("qemu-system-x86_64"):
            self.skipTest("no qemu-system-x86_64")
        # from the first instruction of the machine on: mov cl, 7; a loop of mov ax, 100; div cl; add bx, ax
        image = bytearray(0x10000)
        image[:11] = bytes.fromhex("b107 b86400 f6f1 01c3 ebf7")
        image[0xfff0:0xfff5] = bytes.fromhex("ea000000f0")
        with open(self.path("bios"), "wb") as file:
            file.write(image)
        self.check_made(["qemu-system-x86_64", "-display", "none", "-nodefaults", "-machine", "pc,accel=tcg", "-m", "16",
                         "-bios", self.path("bios")], "cpu_exec")

    def test_guile(self):
        if not shutil.which("guile"):
            self.skipTest("no guile")
        with open(self.path("loop.scm"), "w", encoding="ascii") as file:
            file.write("(define (f n s) (if (> n 0) (f (- n 1) (modulo (+ (* s 31) n) 1000003)) s))\n"
                       "(let loop () (f 100000 0) (loop))\n")
        self.check_made(["guile", "--no-auto-compile", self.path("loop.scm")], "scm_call_n")

    def php_jit(self, kind):
        """PHP with the JIT @kind, which runs functions that call each other, callbacks, and regular expressions of PCRE2."""
        with open(self.path("loop.php"), "w", encoding="ascii") as file:
            file.write("""<?php
class Sum { public $n = 0; function add($i) { $this->n = ($this->n * 31 + $i) % 1000003; return $this; } }
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function sums($n) { $sum = new Sum; for ($i = 0; $i < $n; $i++) $sum->add($i)->add(fib($i % 7)); return $sum->n; }
function words($n) { return array_map(fn($i) => str_repeat(chr(97 + $i % 26), 1 + $i % 9), range(1, $n)); }
for (;;) {
    $n = sums(5000);
    $n += preg_match_all('/([a-f]+ )+(x|yz)*[q-z]/', implode(' ', words(1000)));
}
""")
        return ["php", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M", "-d", f"opcache.jit={kind}", self.path("loop.php")]

    def test_php(self):
        status = shutil.which("php") and subprocess.run(
            ["php", *self.php_jit("tracing")[1:-1], "-r", "echo opcache_get_status()['jit']['on'] ? 'on' : 'off';"], capture_output=True,
            text=True, timeout=TIMEOUT_S, check=False).stdout
        if status != "on":
            self.skipTest("no php with a JIT")
        self.check_made(self.php_jit("tracing"), "php_execute_script")
        whole = self.check_whole(self.php_jit("function"), "php_execute_script")
        # the expressions are code of another kind, with other frames, in the same process
        of_sljit = ["pcre2_jit_match_8" == stack["user"][1]["symbol"] for stack in whole]
        self.assertEqual(set(of_sljit), {False, True})

    def luajit(self):
        """LuaJIT on loops with more values than registers, calls, strings, tables, sorting with functions of its own, C functions that
        call back, coroutines, objects and errors."""
        with open(self.path("loop.lua"), "w", encoding="ascii") as file:
            file.write("""
local ffi = require("ffi")
ffi.cdef [[ void qsort(void *, size_t, size_t, int (*)(const void *, const void *)); double sin(double); ]]
local compare = ffi.cast("int (*)(const void *, const void *)", function(a, b)
    return ffi.cast("const int *", a)[0] - ffi.cast("const int *", b)[0]
end)
local function spills(n)
    local a, b, c, d, e, f, g, h, i, j, k, l = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
    local m, o, p, q, r, s, t, u = 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5
    for x = 1, n do
        a, b, c, d, e, f = b + x, c + a, d + b, e - c, f + d, a - e
        g, h, i, j, k, l = h + x, i + g, j - h, k + i, l + j, g - k
        m, o, p, q = o * 0.5 + x, p + m, q - o, m + p
        r, s, t, u = s * 0.25 + x, t + r, u - s, r + t
    end
    return a + b + c + d + e + f + g + h + i + j + k + l + m + o + p + q + r + s + t + u
end
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local function strings(n)
    local t = {}
    for i = 1, n do t[#t + 1] = ("%d:%s"):format(i, string.rep("x", i % 7)) .. tostring(i) end
    return #table.concat(t):upper()
end
local function tables(n)
    local t, s = {}, 0
    for i = 1, n do t["k" .. i % 97] = i end
    for k, v in pairs(t) do s = s + v + #k end
    for i = 1, n do s = s + math.floor(i / 3) + math.sin(i) + ffi.C.sin(i) + i % 7 end
    return s
end
local function sorts(n)
    local t, x = {}, 12345
    for i = 1, n do x = (x * 16807) % 2147483647; t[i] = x end
    table.sort(t, function(a, b) return a < b end)
    return t[1]
end
local function called_back(n)
    local array = ffi.new("int[?]", n)
    for i = 0, n - 1 do array[i] = (i * 7919) % n end
    ffi.C.qsort(array, n, 4, compare)
    return array[0]
end
local function coroutines(n)
    local s = 0
    local make = coroutine.wrap(function() for i = 1, n do for j = 1, 10 do s = s + j * i end coroutine.yield(i) end end)
    for _ = 1, n do s = s + make() end
    return s
end
local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, Point) end
local function objects(n)
    local p = setmetatable({ x = 0, y = 0 }, Point)
    for i = 1, n do p = p + setmetatable({ x = i, y = -i }, Point) end
    return p.x
end
local function errors(n)
    local bad = 0
    for i = 1, n do
        if not pcall(function(j) if j % 10 == 0 then error("ten") end return j end, i) then bad = bad + 1 end
    end
    return bad
end
while true do
    spills(100000) fib(22) strings(3000) tables(10000) sorts(2000) called_back(1000) coroutines(2000) objects(50000) errors(5000)
end
""")
        return ["luajit", self.path("loop.lua")]

    def test_luajit(self):
        if not shutil.which("luajit"):
            self.skipTest("no luajit")
        self.check_made(self.luajit(), "lua_pcall")

    def erlang(self):
        """A program of two processes, each of which calls 30 functions with frames of different sizes, and works in the last.
        It writes what Erlang says of the stack there."""
        depth = 30
        calls = ""
        for i in range(depth):
            values = [f"V{j}" for j in range(i % 9)]
            made = "".join(f"{value} = A + {j}, " for j, value in enumerate(values))
            calls += f"c{i}(A, B) -> {made}R = c{i + 1}(B, A + {i}), {{R, {', '.join(['A', *values])}}}.\n"
        with open(self.path("chain.erl"), "w", encoding="ascii") as file:
            file.write(f"""-module(chain).
-export([main/0, run/0]).
main() -> erlang:system_flag(backtrace_depth, 100), spawn(fun run/0), run().
run() -> c0(1, 2), run().
{calls}
c{depth}(A, B) -> tell(get(told)), R = work(50, A, B), R.
tell(true) -> ok;
tell(_) ->
    put(told, true),
    {{_, Calls}} = process_info(self(), current_stacktrace),
    io:format("~s~n", [[io_lib:format("~s:~s/~b ", [M, F, A]) || {{M, F, A, _}} <- Calls]]).
work(0, A, _) -> A;
work(N, A, B) ->
    L = [I * A rem 7919 || I <- lists:seq(1, 40)],
    M = maps:from_list([{{I, B}} || I <- L]),
    S = lists:foldl(fun(I, T) -> T bxor (I + maps:get(I, M)) end, 0, L),
    X = erlang:phash2({{S, A}}),
    Y = try binary_to_integer(list_to_binary([X rem 10 + $0, N rem 3 + $8])) catch error:badarg -> N end,
    V = work(N - 1, X rem 100000, Y),
    V + N.
""")
        subprocess.run(["erlc", "chain.erl"], cwd=self.folder, check=True, timeout=TIMEOUT_S)
        return ["erl", "+S", "2", "-noshell", "-noinput", "-pa", self.folder, "-s", "chain", "main"]

    def callers(self, names):
        """The last of @names from the first of the 30 functions on, without C code."""
        return tuple(names[names.index("chain:c0/2"):]) if "chain:c0/2" in names else ()

    def sample_erlang(self, *options):
        with open(self.path("told"), "wb+") as told:
            process = self.start(*self.erlang(), stdout=told, stderr=subprocess.DEVNULL)
            wait_until_busy(process.pid, 500)
            run = self.profile_while_busy([process.pid], 2000, "-F", "999", "-p", str(process.pid), *options)
            self.assertNotIn("vmem", run.stderr)
            self.assertIn("Erlang: stacks show its functions", self.fpless("doctor", str(process.pid)).stdout.decode())
            process.kill()
            told.seek(0)
            said = {self.callers(line.split()) for line in told.read().decode().splitlines()}
        self.assertEqual(len(said), 2)
        return [stack for stack in run.stacks if stack["user"]], said

    def test_erlang(self):
        if not shutil.which("erl") or not shutil.which("erlc"):
            self.skipTest("no Erlang")
        stacks, said = self.sample_erlang()
        # until the tables of beam.smp are made stacks are copied: that of the thread, not that of the Erlang process
        stacks = [stack for stack in stacks if not any(frame["origin"] == "cfi_user" for frame in stack["user"])]
        nr = sum(stack["count"] for stack in stacks)
        whole = [stack for stack in stacks if stack["stop"] == "outermost"]
        print(f"{nr} samples, {sum(stack['count'] for stack in whole)} complete")
        self.assertGreaterEqual(nr, ENOUGH)
        self.assert_share(sum(stack["count"] for stack in whole), nr, 0.995, [stack for stack in stacks if stack["stop"] != "outermost"])
        in_chain = 0
        for stack in whole:
            names = [frame["symbol"] for frame in stack["user"] if frame["origin"] == "jit"]
            chain = [int(name[len("chain:c"):-len("/2")]) for name in names if name and name.startswith("chain:c")]
            self.assertEqual(chain, list(range(len(chain)))[::-1], stack)
            self.assertNotIn(None, names, stack)
            if chain:
                self.assertIn(self.callers(names), said, stack)
                in_chain += stack["count"]
        self.assertGreater(in_chain, nr / 2)
        stacks, _ = self.sample_erlang("--no-jit")
        self.assertFalse(any(frame["origin"] == "jit" for stack in stacks for frame in stack["user"]))


if __name__ == "__main__":
    main()
