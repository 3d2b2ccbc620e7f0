#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lock that another session of postgres holds: who waits stands in the lock manager, and who ends the wait is the commit.

usage: held_lock.py BUILD

One session locks a table and sleeps for three seconds before it commits, another one wants to read that table. Prints TSV: seconds of
the second one's waits at the lock, by what ended them; the server's own timer, which looks for deadlocks, ends the first part. Fails where
the commit ended less than half.
"""

import collections
import os
import signal
import subprocess
import sys
import tempfile
import time

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(BENCH, "mixed"))
import loads  # noqa: E402

TABLE = "pgbench_branches"
HOLD = ("begin", f"lock table {TABLE} in access exclusive mode", "select pg_sleep(3)", "commit")
WAITS, ENDS = "ProcSleep", "CommitTransactionCommand"


def session(where, *commands):
    words = [word for command in commands for word in ("-c", command)]
    return subprocess.Popen(["psql", *where, "-q", *words], stdout=subprocess.DEVNULL)


def wait_for_lock(where):
    asked = f"select count(*) from pg_locks where relation = '{TABLE}'::regclass and mode = 'AccessExclusiveLock'"
    while subprocess.run(["psql", *where, "-qtAc", asked], capture_output=True, text=True, check=True).stdout.strip() == "0":
        time.sleep(0.05)


def stacks(fpless, folder):
    """(frames of who waited, frames of who ended it, ns) of each stack."""
    out = os.path.join(folder, "out.folded")
    servers = []

    def spawn(words, **options):
        servers.append(subprocess.Popen(words, **options))

    where = loads.Postgres(folder).serve(spawn)
    try:
        with subprocess.Popen([fpless, "offcpu", "-q", "-a", "--wakers", "--comm", "postgres", "-d", "60", "-o", out]) as run:
            time.sleep(2)  # its programs are attached
            with session(where, *HOLD):
                wait_for_lock(where)
                session(where, f"select count(*) from {TABLE}").wait()
            run.send_signal(signal.SIGINT)
    finally:
        servers[0].send_signal(signal.SIGINT)
        servers[0].wait()
    with open(out, encoding="utf-8") as file:
        for line in file:
            frames, _, ns = line.rpartition(" ")
            waiter, _, waker = frames.partition(";--;")
            yield waiter.split(";"), waker.split(";"), int(ns)


def main():
    loads.find_postgres()
    found = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        os.chmod(folder, 0o755)
        for waiter, waker, ns in stacks(os.path.join(sys.argv[1], "fpless"), folder):
            if WAITS in waiter:
                found["the commit" if ENDS in waker else waker[-1]] += ns
    print("ended by\ts")
    for waker, ns in found.most_common():
        print("%s\t%.2f" % (waker, ns / 1e9))
    return 0 if found["the commit"] > sum(found.values()) / 2 else "the commit ended less than half"


if __name__ == "__main__":
    sys.exit(main())
