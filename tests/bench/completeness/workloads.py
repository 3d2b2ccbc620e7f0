# SPDX-License-Identifier: Apache-2.0
"""Real programs of the distribution, each busy for longer than a measurement, with inputs made on the spot.

Every workload is (name, shell words). Inputs are generated from a fixed seed, so two machines profile the same work.
"""

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


def make_inputs(folder):
    rng = random.Random(7)
    def put(name, data):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
    regex = "preg_match_all('/k(\\d+)7/', $s, $m);"
    for name, text in {"w.py": PYTHON, "w.pl": PERL, "w.rb": RUBY, "w.awk": AWK, "w.sql": SQL, "w.bc": BC,
                       "w.php": PHP.replace("REGEX", ""), "w-regex.php": PHP.replace("REGEX", regex),
                       "w.gdb": GDB % debug_file(), "big.cc": cpp_source(),
                       "plain.cc": plain_source(random.Random(3))}.items():
        put(name, text)
    put("numbers", "".join("%d\n" % rng.getrandbits(60) for _ in range(6000000)))
    words = ["w%d" % rng.getrandbits(14) for _ in range(4000)]
    put("text", "".join(" ".join(rng.choices(words, k=12)) + "\n" for _ in range(1200000)))
    # 16-bit stereo noise over a slow ramp: something for a predictor to chew on.
    put("pcm", bytes(rng.getrandbits(8) if i & 1 == 0 else (i >> 12) & 0x3f for i in range(1 << 20)) * 60)
    make_repository(os.path.join(folder, "repo"), rng, words)


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


def debug_file():
    """The largest separate debug file there is (libc6-dbg is enough)."""
    best = ""
    for folder, _, names in os.walk("/usr/lib/debug/.build-id"):
        for name in names:
            path = os.path.join(folder, name)
            if not best or os.path.getsize(path) > os.path.getsize(best):
                best = path
    return best


def workloads(folder):
    loop = lambda command: ["sh", "-c", "while :; do %s; done" % command]
    # php+jit: PCRE compiles regular expressions to machine code, which has no CFI and keeps no frame pointer.
    return [
        ("perl", ["/usr/bin/perl", folder + "/w.pl"]),
        ("python3", ["/usr/bin/python3", folder + "/w.py"]),
        ("gdb", ["gdb", "-nx", "-batch", "-x", folder + "/w.gdb"]),
        ("g++", loop("g++ -O2 -c -o /dev/null %s/big.cc" % folder)),
        ("g++plain", ["g++", "-O2", "-c", "-o", "/dev/null", folder + "/plain.cc"]),
        ("clang++", loop("clang++-16 -std=c++17 -O2 -c -o /dev/null %s/big.cc" % folder)),
        ("xz", loop("xz -T2 -6 -c %s/text >/dev/null" % folder)),
        ("git", loop("git -C %s/repo log -p >/dev/null" % folder)),
        ("sqlite3", loop("sqlite3 :memory: <%s/w.sql >/dev/null" % folder)),
        ("rsa2048", ["openssl", "speed", "-seconds", "20", "rsa2048"]),
        ("sha256", ["openssl", "speed", "-seconds", "20", "sha256"]),
        ("sort", loop("sort -n %s/numbers >/dev/null" % folder)),
        ("gawk", ["gawk", "-f", folder + "/w.awk"]),
        ("bc", ["bc", "-lq", folder + "/w.bc"]),
        ("flac", loop("flac -s -8 -f -c --force-raw-format --endian=little --channels=2 --bps=16"
                      " --sample-rate=44100 --sign=signed %s/pcm >/dev/null" % folder)),
        ("zstd", loop("zstd -q -19 -c %s/text >/dev/null" % folder)),
        ("php", ["php", folder + "/w.php"]),
        ("php+jit", ["php", folder + "/w-regex.php"]),
        ("ruby", ["ruby", folder + "/w.rb"]),
    ]
