# SPDX-License-Identifier: Apache-2.0
"""What the programs of the table read: scripts, and data made from fixed seeds, so that two machines profile the same work."""

import os
import random
import subprocess

PYTHON = """
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Node:
    def __init__(self, key): self.key, self.kids = key, []
    def __lt__(self, other): return self.key < other.key
while True:
    fib(18)
    nodes = sorted(Node((i * 7919) % 10007) for i in range(4000))
    text = json.dumps([{"k": n.key, "s": "x%d" % n.key} for n in nodes])
    json.loads(text)
    len(re.findall(r'"x(\\d+)7"', text))
"""

PERL = r"""
sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
while (1) {
    fib(17);
    my %h; $h{($_ * 7919) % 10007} .= "v$_," for 1 .. 8000;
    my $t = join ";", map { "$_=$h{$_}" } sort { $a <=> $b } keys %h;
    my $n = () = $t =~ /(\d+)=v(\d+)7,/g;
}
"""

PHP = r"""<?php
set_time_limit(0);
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
while (true) {
    fib(20);
    $a = []; for ($i = 0; $i < 20000; $i++) $a["k" . ($i * 7919) % 10007] = str_repeat("x", $i % 17);
    ksort($a); $s = json_encode($a); json_decode($s, true); md5($s); REGEX
}
"""

RUBY = r"""
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
loop do
  fib(20)
  h = (1..20000).to_h { |i| ["k#{(i * 7919) % 10007}", "x" * (i % 17)] }
  s = h.sort.map { |k, v| "#{k}=#{v}" }.join(";")
  s.scan(/k(\d+)7/).size
end
"""

AWK = r"""
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
BEGIN { while (1) { fib(18); delete h; for (i = 0; i < 20000; i++) h[(i * 7919) % 10007] = h[(i * 7919) % 10007] "v" i;
  s = ""; for (k in h) if (k % 50 == 0) s = s ";" k "=" h[k]; gsub(/v([0-9]+)7/, "w", s) } }
"""

SQL = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000),
t(i, k, s) AS (SELECT i, (i * 7919) % 10007, printf('x%d', i) FROM n)
SELECT count(*), sum(k), max(s) FROM (SELECT k, s FROM t WHERE s LIKE '%7%' GROUP BY k, substr(s, 1, 6) ORDER BY k);
"""

GDB = """
while 1
file %s
maint expand-symtabs
file
end
"""

BC = "scale=6000\ndefine p(n) { auto i; for (i = 0; i < n; i++) x = a(1/(i+2)) * 4; return x }\np(1000000)\n"


def cpp_source():
    """A large translation unit: headers that cost, and templates that each instantiate anew."""
    lines = ["#include <%s>" % h for h in
             "algorithm map unordered_map regex string vector functional iostream memory random set tuple variant".split()]
    for i in range(120):
        lines.append("""
template <int N> struct S%(i)d { std::map<int, std::vector<std::string>> m; int run(int x) {
  for (int j = 0; j < x; ++j) m[(j * %(i)d) %% 97].push_back(std::to_string(j * N));
  int t = 0; for (auto &[k, v] : m) { std::sort(v.begin(), v.end()); for (auto &s : v) t += (int)s.size() * k; }
  return t + S%(i)d<N - 1>().run(x - 1); } };
template <> struct S%(i)d<0> { int run(int x) { return x; } };
int f%(i)d(int x) { return S%(i)d<6>().run(x); }""" % {"i": i})
    return "\n".join(lines) + "\n"


def plain_source(rng):
    """3,500 functions without a header: no long chains of declarations for the compiler's collector to recurse on."""
    lines = ["typedef unsigned long u64; int use(const void *);"]
    for i in range(3500):
        lines.append("""
struct T%(i)d { u64 a[%(n)d]; int k; u64 mix(u64 x) const {
  for (int j = 0; j < %(n)d; ++j) x = (x ^ a[j]) * %(p)dull + (x >> %(s)d);
  return x; } };
u64 f%(i)d(const T%(i)d *t, int n, u64 seed) { u64 s = seed;
  for (int i = 0; i < n; ++i) { T%(i)d c = t[i];
    if (c.k & 1) s += c.mix(s); else { s ^= c.mix(s + i); if (s %% %(m)d == 0) use(&c); }
    switch (s & 7) { case 0: s += %(p)d; break; case 1: s = s * 3 + i; break; case 5: s ^= s >> 11; } }
  return s; }""" % {"i": i, "n": 3 + i % 13, "p": rng.getrandbits(30) | 1, "s": 5 + i % 23, "m": 3 + i % 97})
    return "\n".join(lines) + "\n"


DGEMM = """
import numpy
a, b = (numpy.random.default_rng(seed).random((1200, 1200)) for seed in (1, 2))
while True:
    a @ b
"""

# what is not dgemm: single precision, complex numbers, factorisations, singular values
LINALG = """
import numpy
rng = numpy.random.default_rng(1)
a = rng.random((500, 500))
s, z = a.astype("float32"), a + 1j * rng.random((500, 500))
while True:
    s @ s, z @ z, a @ a[0], numpy.linalg.solve(a, a), numpy.linalg.svd(s[:150, :150]), numpy.linalg.cholesky(a @ a.T + 500)
"""

# products of two primes of 28 digits: quadratic sieve, elliptic curves, Pollard's rho
GP = "for (i = 1, 10^9, factor(nextprime(10^27 + random(10^26)) * " \
     "nextprime(10^27 + random(10^26))))\n"

REGEX = "preg_match_all('/k(\\d+)7/', $s, $m);"
SCHEME = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(let loop () (fib 27) (loop))\n"
TCL = "proc fib n {expr {$n < 2 ? $n : [fib [expr {$n-1}]] + [fib [expr {$n-2}]]}}\nwhile 1 {fib 18}\n"
BASH = "fib() { if (($1 < 2)); then r=$1; else local a; fib $(($1-1)); a=$r; fib $(($1-2)); r=$((a+r)); fi; }\nwhile :; do fib 12; done\n"
M4 = "define(`f', `ifelse(eval($1 < 2), 1, $1, `eval(f(eval($1-1)) + f(eval($1-2)))')')f(19)\n"
COQ = "Fixpoint sum (n : nat) : nat := match n with O => O | S m => S (S (sum m)) end.\n" + "Eval cbv in sum 4000.\n" * 20
PG_SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) " \
         "SELECT count(*), sum(i * 7919 % 10007), max(md5(i::text)) FROM n;\n"
PG_JIT_SQL = "select sum(i*2+length(i::text)) from generate_series(1,1000000) i where i % 3 <> 1;\n" * 100
PAGE = "<!DOCTYPE html><p id=x><script>function f(n){return n<2?n:f(n-1)+f(n-2)} for (let i=0;i<40;i++) " \
       "x.textContent=f(30)+JSON.stringify([...Array(9999).keys()].sort()).length</script>\n"


def deep_matches():
    """Matches within matches: the compiler recurses on them."""
    lines = ["type t = A of int | B of t * t | C of t | D"]
    for i in range(12):
        nested = "e"
        for k in range(700):
            nested = "(match x with C y when y = D -> %d | _ -> %s)" % (k, nested) if k else "(match x with D -> 0 | _ -> 1)"
        lines.append("let f%d x = %s" % (i, nested))
    return "\n".join(lines) + "\n"


def grammar():
    """Expressions of many operators and statements, for a generator of LR(1) parsers."""
    tokens = ["T%d" % i for i in range(40)]
    rules = ["%token EOF LP RP ID " + " ".join(tokens), "%start <unit> main", "%%", "main: s EOF { () }"]
    rules.append("s: " + " | ".join("%s e0 s {()}" % one for one in tokens[20:]) + " | ID {()}")
    for i in range(19):
        rules.append("e%d: e%d %s e%d {()} | e%d {()}" % (i, i, tokens[i], i + 1, i + 1))
    return "\n".join(rules + ["e19: ID {()} | LP e0 RP {()}"]) + "\n"


def javascript():
    parts = ["function f%d(a, b) { let s = 0; for (let i = 0; i < a; i++) { if (i %% %d) s += b[i] ?? %d; else s -= Math.sqrt(i); }"
             " return { value: s, text: `x${s}`, next: (c) => f%d(c, b) }; }" % (i, i % 9 + 2, i, (i * 7) % 9000) for i in range(9000)]
    return "\n".join(parts) + "\nexport default [%s];\n" % ", ".join("f%d" % i for i in range(9000))


def rust():
    return "\n".join("""pub fn f%(i)d(v: &[u64]) -> Vec<String> {
    let mut m = std::collections::HashMap::new();
    for (k, x) in v.iter().enumerate() { *m.entry(k %% %(p)d).or_insert(0u64) += x * %(i)d; }
    let mut out: Vec<_> = m.into_iter().map(|(k, x)| format!("{}={}", k, x)).collect(); out.sort(); out }"""
                     % {"i": i, "p": i % 50 + 3} for i in range(150)) + "\n"


def json_text():
    return "[" + ",".join('{"k":%d,"s":"x%d","l":[%d,%d]}' % (i, i * 7, i, i + 1) for i in range(200000)) + "]"


def numbers():
    rng = random.Random(7)
    return "".join("%d\n" % rng.getrandbits(60) for _ in range(3000000))


def vocabulary():
    rng = random.Random(7)
    return ["w%d" % rng.getrandbits(14) for _ in range(4000)]


def prose():
    rng, words = random.Random(8), vocabulary()
    return "".join(" ".join(rng.choices(words, k=12)) + "\n" for _ in range(600000))


def shell():
    """Functions with something to say about each line."""
    return "#!/bin/sh\n" + "".join(
        "f%d() { local a=$1; if [ $a -lt %d ]; then echo $(f%d $(($a-1))) | sed 's/%d/$a/'; fi; }\n" % (i, i, i // 2, i) for i in range(800))


def markdown():
    rng, words = random.Random(10), vocabulary()
    return "".join("## %s\n\n%s *%s* `%s`.\n\n- %s\n- [%s](http://%s.example)\n\n" % (
        rng.choice(words), " ".join(rng.choices(words, k=60)), rng.choice(words), rng.choice(words), rng.choice(words), rng.choice(words),
        rng.choice(words)) for _ in range(800))


def pcm():
    """16-bit stereo noise over a slow ramp: something for a predictor to chew on."""
    rng = random.Random(9)
    return bytes(rng.getrandbits(8) if i & 1 == 0 else (i >> 12) & 0x3f for i in range(1 << 20)) * 60


def make_repository(path, rng, words):
    """A history of 400 commits over 40 files, fed to fast-import."""
    stream = []
    files = {i: [" ".join(rng.choices(words, k=8)) for _ in range(300)] for i in range(40)}
    for commit in range(400):
        stream.append("commit refs/heads/main\ncommitter a <a@b.c> %d +0000\ndata 2\nc\n" % (1700000000 + commit))
        for i in rng.sample(sorted(files), 12):
            for _ in range(20):
                files[i][rng.randrange(300)] = " ".join(rng.choices(words, k=8))
            data = "\n".join(files[i])
            stream.append("M 100644 inline f%d\ndata %d\n%s\n" % (i, len(data), data))
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)
