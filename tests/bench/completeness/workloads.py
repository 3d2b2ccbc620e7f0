# SPDX-License-Identifier: Apache-2.0
"""Real programs of the distribution, each busy for longer than a measurement, with inputs made on the spot.

Every workload is (name, shell words). Inputs are generated from a fixed seed, so two machines profile the same work.
"""

import os
import random
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
from texts import AWK, BC, GDB, PERL, PHP, PYTHON, RUBY, SQL, cpp_source, make_repository, plain_source  # noqa: E402


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
