# SPDX-License-Identifier: Apache-2.0
"""The programs of the table: one row each. `least` is what must be complete, per cent; `ways` are the ways of walking that it
exercises (ways.py); those with `ci` continuous integration runs, where they are installed. A program is busy for longer than
a measurement, or is started again and again. Each has a note where its threshold is below 99."""

import contextlib
import dataclasses
import random

import texts
import uretprobe
from inputs import QUIET, debug_file

BASE = ("dash", "coreutils")
LONG_MS = "600000"
GUILE = "/usr/lib/x86_64-linux-gnu/guile/3.0/bin/guile"
JVM = "/usr/lib/jvm/java-17-openjdk-amd64/bin/"
NAMED = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
ZEND = ["-d", "zend_extension=opcache.so", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=64M",
        "-d", "opcache.jit=tracing", "-d", "opcache.file_update_protection=0"]  # the last: a new file is not too new to be compiled
SEMIPRIME = str((10**32 + 49) * (10**33 + 61))  # both prime: rho needs some 10^16 steps, each a product in libgmp
NODE_JS = "function f(n){return n<2?n:f(n-1)+f(n-2)} console.log(f(60))"


@dataclasses.dataclass(frozen=True)
class Ci:
    """What continuous integration asks for."""
    tool: str     # must be installed
    least: float  # of the one second that it samples, the first one


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    packages: tuple
    command: object        # function of Inputs to words
    least: float = 99.5
    ways: frozenset = frozenset({"cfi"})
    env: dict = dataclasses.field(default_factory=dict)
    ci: Ci = None
    hz: int = None         # where it is not the run's
    varies: bool = False   # what it does differs from run to run: it is one process
    options: tuple = ()    # of fpless, in every way of sampling it
    around: object = None  # function of the path of what is run, outside: a context meanwhile
    readme: bool = False
    note: str = ""


def row(name, packages, command, least=99.5, ways="cfi", ci=(), **more):
    return Program(name, tuple(packages.split()), command, least, frozenset(ways.split()), ci=Ci(*ci) if ci else None, **more)


def both_rates(least_99, *given, **more):
    """Two rows: at the rate of the run, and at 99 Hz. At a low rate the first tenth of a second is more of the samples."""
    one = row(*given, **more)
    return one, dataclasses.replace(one, name=one.name + ", 99 Hz", least=least_99, hz=99, ci=None, readme=False)


def loop(text):
    return ["sh", "-c", "while :; do %s; done" % text]


def fib(name, *words):
    """A program of ours that an interpreter runs."""
    return lambda inputs: [*words, inputs.source(name), LONG_MS]


def in_tmp(command):
    """It leaves files where it is."""
    return lambda inputs: ["sh", "-c", 'cd /tmp && exec "$@"', "sh", *command(inputs)]


def script(name, text, *words):
    return lambda inputs: [*words, inputs.text(name, text)]


def java(*options):
    def command(inputs):
        inputs.compiled("Fib.java", JVM + "java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", inputs.work, "Fib.java")
        return [JVM + "java", *options, "-cp", inputs.work, "Fib", LONG_MS]
    return command


def ocaml(inputs):
    inputs.compiled("fib.ml", "ocamlopt", "-o", "fib-ocaml", "fib.ml")
    return [inputs.at("fib-ocaml"), LONG_MS]


def ocaml_bytecode(inputs):
    inputs.compiled("fib.ml", "ocamlc", "-o", "fib-byte", "fib.ml")
    return ["ocamlrun", inputs.at("fib-byte"), LONG_MS]


def ocaml_matches(inputs):
    """The compiler itself, native OCaml, on matches that it goes deep for."""
    path = inputs.text("deep.ml", texts.deep_matches)
    return loop("ocamlopt -c -o /tmp/deep.cmx %s" % path)


def go(inputs):
    inputs.compiled("fib.go", "go", "build", "-o", "fib-go", "fib.go",
                    env={"GOCACHE": "/tmp/go-cache", "GO111MODULE": "off", "GOFLAGS": "-p=2"})
    return [inputs.at("fib-go"), LONG_MS]


def go_installed(inputs):
    """By the machine's own Go, newer than Debian's: a program that needs no library."""
    return [inputs.built_by_go("fib.go", "fib-go-installed"), LONG_MS]


def coqc(inputs):
    return loop("coqc -q -o /tmp/Deep.vo %s >/dev/null" % inputs.text("Deep.v", texts.COQ))


def ghc(*options):
    def command(inputs):
        inputs.run(["ghc-pkg", "recache"])
        inputs.compiled("Fib.hs", "ghc", "-v0", "-O", *options, "-o", "fib-ghc", "Fib.hs")
        return [inputs.at("fib-ghc"), LONG_MS]
    return command


def erlang(*options):
    def command(inputs):
        inputs.compiled("fib.erl", "erlc", "fib.erl")
        return ["erl", *options, "-noshell", "-pa", inputs.work, "-s", "fib", "main", LONG_MS]
    return command


def encode(codec, *more):
    return lambda inputs: [*QUIET, "-stream_loop", "-1", "-i", inputs.raw(), "-c:v", codec, *more, "-f", "null", "-"]


def gdb(inputs):
    return ["gdb", "-nx", "-batch", "-x", inputs.text("w.gdb", texts.GDB % debug_file(inputs.machine.root.path))]


def flac(inputs):
    return loop("flac -s -8 -f -c --force-raw-format --endian=little --channels=2 --bps=16 --sample-rate=44100 --sign=signed"
                " %s >/dev/null" % inputs.text("pcm", texts.pcm))


def speed(*words):
    return lambda inputs: ["openssl", "speed", "-seconds", "30", *words]


def postgres(inputs, text=texts.PG_SQL, options=""):
    sql = inputs.text("pg.sql", text)
    bin_folder = "/usr/lib/postgresql/15/bin/"
    start = ("rm -rf /tmp/pg && mkdir /tmp/pg && chown nobody /tmp/pg && chroot --userspec=nobody:nogroup / " + bin_folder +
             "initdb -D /tmp/pg -A trust >/dev/null")
    inputs.run(["sh", "-c", start])
    return ["chroot", "--userspec=nobody:nogroup", "/", "sh", "-c",
            "while :; do %spostgres --single %s -D /tmp/pg postgres <%s >/dev/null; done" % (bin_folder, options, sql)]


def postgres_jit(inputs):
    """LLVM compiles the expressions of each query, and registers what it made for debuggers."""
    return postgres(inputs, texts.PG_JIT_SQL, "-c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0 -c jit_optimize_above_cost=0 "
                    "-c jit_debugging_support=on")


def numbers(form):
    return lambda inputs: loop(form % inputs.text("numbers", texts.numbers))


def prose(form):
    return lambda inputs: loop(form % inputs.text("text", texts.prose))


def gxx(form, name, text):
    return lambda inputs: loop(form % inputs.text(name, text))


NUMPY = "python3-numpy libopenblas0-pthread"
# Its kernels for AVX2 are assembly without CFI; others are C: the same work on any machine of today.
OPENBLAS = {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"}
TWO_STACKS = "before the tables are made: a snapshot holds one stack, not both"
JIT_NOTE = "compiled code keeps neither a frame pointer nor CFI"
HASKELL_NOTE = "Haskell has a stack of its own"
ASKED_NOTE = "its first samples come before its code is described"

PROGRAMS = [
    # languages
    *both_rates(98.5, "node", "nodejs", lambda inputs: ["node", "-e", NODE_JS], 99, "cfi fp jit synth", ci=("node", 96), readme=True),
    row("node, the machine's own", "libstdc++6", lambda inputs: [inputs.installed("node"), "-e", NODE_JS], 99, "cfi fp jit synth"),
    row("node --perf-basic-prof", "nodejs", fib("fib.js", "node", "--perf-basic-prof"), 99, "cfi fp jit synth"),
    row("node --perf-prof", "nodejs", in_tmp(fib("fib.js", "node", "--perf-prof")), 99, "cfi fp jit synth"),
    row("node --interpreted-frames-native-stack", "nodejs",
        fib("fib.js", "node", "--perf-basic-prof", "--interpreted-frames-native-stack"), 99, "cfi fp jit synth"),
    row("java", "openjdk-17-jre-headless", java(), 99.5, "jit fp", readme=True),
    row("java, perf map", "openjdk-17-jre-headless", java(*NAMED), 99.5, "jit fp"),
    row("java -XX:+PreserveFramePointer", "openjdk-17-jre-headless", java("-XX:+PreserveFramePointer", *NAMED), 99, "jit fp",
        ci=(JVM + "java", 92), readme=True),
    row("go 1.19", "golang-go", go, 99.5, "go"),
    row("go, the machine's own", "coreutils", go_installed, 99.5, "go"),
    *both_rates(99, "esbuild (Go 1.19)", "esbuild dash", lambda inputs: loop(
        "esbuild --log-level=error --minify --outfile=/dev/null %s" % inputs.text("big.js", texts.javascript)), 99.5, "go threads",
                ci=("esbuild", 97)),
    *both_rates(99.5, "rclone (Go 1.19)", "rclone dash", prose("rclone --config /dev/null hashsum sha512 %s >/dev/null"), 99.5,
                "go threads large"),
    row("luajit", "luajit", fib("fib.lua", "luajit"), 99.5, "cfi jit", varies=True),
    row("luajit -joff", "luajit", fib("fib.lua", "luajit", "-joff"), 99.5, "cfi", ci=("luajit", 97)),
    row("sbcl", "sbcl", fib("fib.lisp", "sbcl", "--script"), 93, "fp jit", ci=("sbcl", 80), readme=True,
        note=TWO_STACKS),
    row("ocamlopt", "ocaml-nox gcc libc6-dev", ocaml, 99.5, "cfi"),
    row("ocaml bytecode", "ocaml-nox gcc libc6-dev", ocaml_bytecode),
    row("menhir (OCaml)", "menhir dash", lambda inputs: loop("menhir --canonical --base %s %s >/dev/null 2>&1" % (
        inputs.at("g"), inputs.text("g.mly", texts.grammar))), 99.5, "cfi expr", ci=("menhir", 98)),
    *both_rates(99.7, "ocamlopt, deep matches", "ocaml-nox gcc libc6-dev dash", ocaml_matches, 99.9, "cfi deep", readme=True),
    *both_rates(99.7, "coqc, Eval cbv (OCaml)", "coq dash", coqc, 99.7, "cfi deep"),
    row("ghc -O", "ghc gcc libc6-dev", ghc(), 97, "synth deep", note=HASKELL_NOTE),
    row("ghc -O -g", "ghc gcc libc6-dev", ghc("-g"), 97, "synth deep", note=HASKELL_NOTE),
    row("shellcheck (Haskell)", "shellcheck dash", lambda inputs: loop("shellcheck %s >/dev/null" % inputs.text("long.sh", texts.shell)), 97,
        "synth deep", ci=("shellcheck", 80), note=HASKELL_NOTE),
    row("pandoc (Haskell)", "pandoc dash", lambda inputs: loop("pandoc -f markdown -t html -o /dev/null %s" % inputs.text(
        "long.md", texts.markdown)), 97, "synth deep", note=HASKELL_NOTE),
    row("erlang", "erlang-base", erlang(), 99.5, "jit"),
    row("erlang +JPperf true", "erlang-base", erlang("+JPperf", "true"), 99.5, "jit"),
    row("pypy3", "pypy3", fib("fib.py", "pypy3"), 0, "jit", note=JIT_NOTE, varies=True),
    row("pypy3 --jit off", "pypy3", fib("fib.py", "pypy3", "--jit", "off")),
    row("python3", "python3", script("w.py", texts.PYTHON, "python3"), readme=True),
    row("python3, recursion", "python3", fib("fib.py", "python3")),
    row("perl", "perl", script("w.pl", texts.PERL, "perl"), readme=True),
    row("perl, recursion", "perl", fib("fib.pl", "perl")),
    row("ruby", "ruby", script("w.rb", texts.RUBY, "ruby"), readme=True),
    row("ruby, recursion", "ruby", fib("fib.rb", "ruby")),
    row("php", "php8.2-cli", script("w.php", texts.PHP.replace("REGEX", ""), "php8.2")),
    row("php, regular expressions", "php8.2-cli", script("w-regex.php", texts.PHP.replace("REGEX", texts.REGEX), "php8.2"), 99.5,
        "cfi jit"),
    row("php, JIT", "php8.2-cli php8.2-opcache", fib("fib.php", "php8.2", *ZEND), 95, "cfi jit", note=ASKED_NOTE, varies=True),
    row("php, JIT with a perf map", "php8.2-cli php8.2-opcache", fib("fib.php", "php8.2", *ZEND, "-d", "opcache.jit_debug=16"), 95,
        "cfi jit", note=ASKED_NOTE, varies=True),
    row("lua5.4", "lua5.4", fib("fib.lua", "lua5.4")),
    row("guile", "guile-3.0", script("fib.scm", texts.SCHEME, GUILE), 99.5, "cfi jit"),
    row("tclsh", "tcl8.6", script("fib.tcl", texts.TCL, "tclsh8.6")),
    row("gawk", "gawk", script("w.awk", texts.AWK, "gawk", "-f"), readme=True),
    row("bash", "bash", script("w.sh", texts.BASH, "bash")),
    row("bc", "bc", script("w.bc", texts.BC, "bc", "-lq")),
    row("m4", "m4 dash", lambda inputs: loop("m4 %s >/dev/null" % inputs.text("w.m4", texts.M4))),
    # compilers and tools
    row("gdb", "gdb libc6-dbg", gdb, readme=True),
    *both_rates(99, "g++, templates", "g++ dash", gxx("g++ -O2 -c -o /dev/null %s", "big.cc", texts.cpp_source), 99.5, "cfi deep",
                readme=True),
    row("g++, plain", "g++ dash", gxx("g++ -O2 -c -o /dev/null %s", "plain.cc", lambda: texts.plain_source(random.Random(3))), 99.5,
        "cfi synth"),
    row("clang++", "clang-16 libstdc++-12-dev dash", gxx("clang++-16 -std=c++17 -O2 -c -o /dev/null %s", "big.cc", texts.cpp_source),
        99.5, "cfi large", readme=True),
    row("rustc", "rustc dash", lambda inputs: loop("rustc -O --crate-type lib --emit=metadata,llvm-ir -o /tmp/r.ll %s" % inputs.text(
        "big.rs", texts.rust)), 99, "cfi threads"),
    row("git", "git dash", lambda inputs: loop("git -C %s log -p >/dev/null" % inputs.repository()), env={
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}),
    row("grep -E", "grep dash", prose("grep -cE '(w1[0-9]+ ){3}.*7$' %s"), ways="cfi burst"),
    row("grep -P", "grep dash", prose("grep -cP '(w1[0-9]+ )+(w2[0-9]+ )*[xyz]' %s"), 99, "cfi jit burst"),
    row("qemu-x86_64, python3", "qemu-user python3", script("w.py", texts.PYTHON, "qemu-x86_64", "/usr/bin/python3"), 99.5, "cfi jit"),
    row("sed", "sed dash", prose("sed -E 's/w([0-9]+)7/\\1/g' %s >/dev/null")),
    row("sort -n", "coreutils dash", numbers("sort -n %s >/dev/null"), 99.5, "cfi threads burst", readme=True),
    row("jq", "jq dash", lambda inputs: loop("jq '[.[] | .k * 3] | add' %s >/dev/null" % inputs.text("w.json", texts.json_text))),
    row("sqlite3", "sqlite3 dash", lambda inputs: loop("sqlite3 :memory: <%s >/dev/null" % inputs.text("w.sql", texts.SQL)), readme=True),
    row("postgres", "postgresql-15 dash coreutils", postgres, 99.5, "cfi signals", env={"LC_ALL": "C"}),
    row("postgres jit", "postgresql-15 libllvm14 dash coreutils", postgres_jit, 95, "cfi jit", env={"LC_ALL": "C"}),
    # compression, cryptography, media, numbers
    row("xz -T2", "xz-utils dash", prose("xz -T2 -6 -c %s >/dev/null"), 99.5, "cfi threads"),
    row("zstd -19", "zstd dash", prose("zstd -q -19 -c %s >/dev/null"), 99.5, "cfi synth"),
    row("zstd -b3", "zstd", lambda inputs: ["zstd", "-q", "-b3", "-i600", inputs.text("text", texts.prose)], 99.5, "cfi synth"),
    row("bzip2", "bzip2 dash", prose("bzip2 -c %s >/dev/null")),
    row("gzip -9", "gzip dash", prose("gzip -9 -c %s >/dev/null")),
    row("brotli", "brotli dash", prose("brotli -q 9 -c %s >/dev/null")),
    row("flac -8", "flac dash", flac),
    row("openssl rsa2048", "openssl", speed("rsa2048"), 99.5, "cfi expr", readme=True),
    row("openssl sha256", "openssl", speed("-bytes", "8192", "sha256")),
    *both_rates(99.5, "openssl aes-256-gcm", "openssl", speed("-bytes", "16384", "-evp", "aes-256-gcm"), 99.8, "cfi expr",
                ci=("openssl", 97), readme=True),
    row("openssl ecdsap256", "openssl", speed("ecdsap256"), 99.5, "cfi synth"),
    row("openssl chacha20-poly1305", "openssl", speed("-bytes", "16384", "-evp", "chacha20-poly1305"), 99.5, "cfi synth expr"),
    row("gpg", "gpg dash", prose("gpg --no-options --homedir /tmp --batch --yes --quiet --print-md SHA512 %s >/dev/null"), 99.5,
        "cfi synth"),
    *both_rates(99, "ffmpeg libx264", "ffmpeg", encode("libx264", "-preset", "medium"), 99.5, "cfi synth large threads",
                readme=True),
    *both_rates(97, "ffmpeg libx265", "ffmpeg", encode("libx265", "-preset", "medium", "-x265-params", "log-level=error"), 98.5,
                "cfi synth large threads", note="leaves whose rows are late, stepped from by rbp"),
    row("ffmpeg h264 decoder", "ffmpeg", lambda inputs: [*QUIET, "-stream_loop", "-1", "-i", inputs.h264(), "-f", "null", "-"], 99.5,
        "cfi synth threads"),
    row("dav1d", "dav1d ffmpeg", lambda inputs: ["dav1d", "-q", "-i", inputs.av1(), "--muxer", "null", "-o", "-"], 98.5,
        "cfi synth threads", note="jumps by register"),
    *both_rates(99, "numpy dgemm", NUMPY, script("dgemm.py", texts.DGEMM, "python3"), 99.5, "cfi synth large", env=OPENBLAS,
                readme=True),
    *both_rates(96, "numpy linalg", NUMPY, script("linalg.py", texts.LINALG, "python3"), 98, "cfi synth large", env=OPENBLAS),
    *both_rates(99, "gp factor (libgmp)", "pari-gp", script("factor.gp", texts.GP, "gp", "-q", "-f"), 99.5, "cfi synth"),
    row("factor (libgmp)", "coreutils", lambda inputs: ["factor", SEMIPRIME], 99.5, "cfi synth"),
    *both_rates(97, "chromium", "chromium dash", lambda inputs: loop(
        "timeout 20 chromium --headless --no-sandbox --disable-gpu --user-data-dir=/tmp/chromium --virtual-time-budget=100000"
        " --dump-dom %s >/dev/null" % inputs.text("work.html", texts.PAGE)), 98, "cfi fp jit synth threads",
                note="threads that have just begun"),
    # places that programs are in by others' doing
    row("under a uretprobe", "libc6", lambda inputs: [inputs.built("probed.c")], 99.5, "uretprobe", ci=("gcc", 98),
        around=uretprobe.on("probed")),
    row("deep recursion", "libc6", lambda inputs: [inputs.built("deep.c"), "5000"], 99, "deep", ci=("gcc", 85)),
    row("signal handlers", "libc6", lambda inputs: [inputs.built("handlers.c")], 99.5, "signals", ci=("gcc", 97)),
]


def nothing_around(_path):
    return contextlib.nullcontext()
