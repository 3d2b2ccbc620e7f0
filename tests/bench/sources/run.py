#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How complete the stacks of each kind of event are, from a program's first instruction on.

usage: run.py FPLESS [--only PROGRAM] [--events EVENT[,EVENT...]]

The event "offcpu" stands for the waits that `fpless offcpu --exact` samples. A server of postgres runs as the user postgres,
in a database that this makes; the JVM keeps frame pointers. Threads that were exiting or in execve(2) have
no stack and are left out, as in tests/bench/programs. Prints TSV: program, event, samples, complete %, lost, what the others
ended with. Exit status 1: one is below 99.9 %.
"""

import argparse
import glob
import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile

EVENTS = (
    "cpu-clock", "page-faults", "context-switches", "cpu-migrations", "syscalls:sys_enter_read", "raw_syscalls:sys_enter",
    "sched:sched_switch", "uprobe:libc.so.6:malloc", "uretprobe:libc.so.6:malloc", "offcpu",
)
LEAST = 99.9
FINE = ("outermost", "exiting", "execing")

PYTHON = "import json, re, sqlite3, decimal\nfor i in range(300): json.loads(json.dumps(list(range(500)))); re.sub('a+', str, 'baa' * 200)"
PERL = r'my %h; for my $i (1..60000) { my @f = split /,/, "a,b,$i"; $h{$f[2] % 977} .= sprintf("%d", $i); } print scalar(keys %h), "\n"'
JAVA = """
import java.util.concurrent.*;
public class Waits {
    static int work(int n) throws Exception { Thread.sleep(1); return n < 2 ? n : work(n - 1) + 1; }
    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        for (int i = 0; i < 400; i++) { final int n = i % 20; pool.submit(() -> work(n)); }
        pool.shutdown();
        pool.awaitTermination(60, TimeUnit.SECONDS);
    }
}
"""
MAKE = """
all: $(foreach n,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20,out/$(n).o)
out/%.o:
\tmkdir -p out && echo 'int main(void) { return $*; }' | gcc -O2 -x c -c -o $@ -
"""


def postgres(folder):
    """A command that runs a server and asks it, all below one process."""
    binaries, = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1:]
    user = pwd.getpwnam("postgres")
    data = os.path.join(folder, "data")
    os.mkdir(data)
    os.chmod(folder, 0o755)
    os.chown(data, user.pw_uid, user.pw_gid)

    def as_user(command):
        return ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups", "sh", "-c", command]

    path = "PATH=%s:$PATH; cd %s; " % (binaries, shlex.quote(data))
    server = "pg_ctl -D db -o '-k %s -h \"\"' -l log -w %%s >/dev/null" % data
    ask = "pgbench -h %s postgres" % data
    subprocess.run(as_user(path + "initdb -D db >/dev/null && %s && %s -i -q && %s" % (
        server % "start", ask, server % "stop")), check=True, stderr=subprocess.DEVNULL)
    return as_user(path + "%s && %s -S -T 1 -c 2 && %s -T 1; %s" % (server % "start", ask, ask, server % "stop"))


def redis(folder):
    """A command that runs a server of redis and asks it."""
    sock = os.path.join(folder, "redis.sock")
    return ["sh", "-c", "redis-server --port 0 --unixsocket %s --save '' --dir %s >/dev/null & "
            "until redis-cli -s %s ping >/dev/null 2>&1; do sleep 0.1; done; redis-benchmark -s %s -q -n 20000 -t get,set,lpush,zadd; "
            "redis-cli -s %s shutdown nosave; wait" % ((shlex.quote(sock), shlex.quote(folder)) + (shlex.quote(sock),) * 3)]


def make(folder):
    """A build of four jobs at a time."""
    path = os.path.join(folder, "Makefile")
    with open(path, "w", encoding="ascii") as file:
        file.write(MAKE)
    return ["make", "-B", "-s", "-j4", "-C", folder, "-f", path]


def java(folder):
    """A JVM that keeps frame pointers, with eight threads that wait."""
    path = os.path.join(folder, "Waits.java")
    with open(path, "w", encoding="ascii") as file:
        file.write(JAVA)
    subprocess.run(["javac", "-d", folder, path], check=True)
    return ["java", "-XX:+PreserveFramePointer", "-cp", folder, "Waits"]


def programs(folder):
    return {
        "python3": lambda: ["/usr/bin/python3", "-c", PYTHON],
        "perl": lambda: ["/usr/bin/perl", "-e", PERL],
        "gdb": lambda: ["/usr/bin/gdb", "-nx", "-batch", "-ex", "info functions ^main$", "-ex", "info types ^FILE$", "/usr/bin/gdb"],
        "postgres": lambda: postgres(folder),
        "redis": lambda: redis(folder),
        "make": lambda: make(folder),
        "java": lambda: java(folder),
    }


def measure(fpless, command, event, folder):
    stats = os.path.join(folder, "stats.json")
    rate = ["-F", "999"] if event == "cpu-clock" else ["-c", "1"]
    words = ["offcpu", "--exact"] if event == "offcpu" else ["profile", *rate, "-e", event]
    run = subprocess.run([fpless, *words, "-q", "--no-cache", "--stats", stats, "-o", os.path.join(folder, "out.jsonl"),
                          "--ring-memory", "32M", "--stack-memory", "64M", "--", *command],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not os.path.exists(stats):
        sys.exit(run.stderr)
    with open(stats) as file:
        said = json.load(file)
    os.unlink(stats)
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fpless")
    parser.add_argument("--only")
    parser.add_argument("--events", default=",".join(EVENTS))
    options = parser.parse_args()
    fpless, folder = os.path.abspath(options.fpless), tempfile.mkdtemp(prefix="fpless-sources-")
    below = 0
    print("program\tevent\tsamples\tcomplete %\tlost\tother ends")
    try:
        for name, make in programs(folder).items():
            if options.only not in (None, name):
                continue
            command = make()
            for event in options.events.split(","):
                said = measure(fpless, command, event, folder)
                judged = said["user_samples"] - said["stop"]["exiting"] - said["stop"]["execing"]
                share = 100 * said["complete"] / judged if judged else 100.0
                ends = ["%s %d" % (end, nr) for end, nr in said["stop"].items() if nr and end not in FINE]
                below += share < LEAST
                print("%s\t%s\t%d\t%.3f\t%d\t%s" % (name, event, judged, share, sum(said["lost"].values()), ", ".join(ends)), flush=True)
    finally:
        shutil.rmtree(folder)
    return below > 0


if __name__ == "__main__":
    sys.exit(main())
