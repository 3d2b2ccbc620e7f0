#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of a transaction of `pgbench -S` and of its server, beside fpless offcpu -a and without.

usage: pgbench.py BUILD [--rounds 9] [--transactions 30000]

Two clients ask one server. The variants take turns; each is judged by the median of its ratios to the run without fpless in
the same round. What fpless takes itself is a column of its own. BUILD has bench_hooks, too, which holds empty programs at the same
hooks: the least. Prints TSV, and fails where the ratio is above 1.02.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(BENCH, "mixed"))
sys.path.insert(0, os.path.join(BENCH, "..", "support"))
import loads  # noqa: E402
from shell_times import read_times  # noqa: E402

RATIO = 1.02
CLIENTS = 2
VARIANTS = {"none": None, "empty programs": "empty", "offcpu -a": (), "offcpu -a --exact": ("--exact",)}
JUDGED = "offcpu -a"
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A server of postgres, whose backends end with their clients."""

    def __init__(self, folder):
        self.process = None
        self.where = loads.Postgres(folder).serve(self.spawn)

    def spawn(self, words, **options):
        self.process = subprocess.Popen(words, **options)
        return self.process

    def cpu_s(self):
        """CPU time of the backends that have ended."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[13:15]) / TICKS

    def nr_children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return len(file.read().split())

    def ask(self, before, transactions, folder):
        """Microseconds of CPU of a transaction, the client's and the server's; seconds of fpless, named by the words @before."""
        said = os.path.join(folder, "times")
        shell = '"$@" >/dev/null; times >"$0"'
        server_s, nr_idle = self.cpu_s(), self.nr_children()
        child = subprocess.Popen([*before, "bash", "-c", shell, said, "pgbench", "-S", "-n", "-c", str(CLIENTS),
                                  "-t", str(transactions // CLIENTS), *self.where], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{before} pgbench: status {status}")
        while self.nr_children() > nr_idle:
            time.sleep(0.01)
        client_s = sum(read_times(said))
        return ((self.cpu_s() - server_s + client_s) / transactions * 1e6, usage.ru_utime + usage.ru_stime - client_s)


def words_before(build, words, folder):
    """What the client is run by; @words: of VARIANTS."""
    if words is None:
        return ()
    if words == "empty":
        return (os.path.join(build, "tests/bench/offcpu/bench_hooks"),)
    return (os.path.join(build, "fpless"), "offcpu", "-q", "-a", *words, "-o", os.path.join(folder, "out.folded"), "--")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--transactions", type=int, default=30000)
    options = parser.parse_args()
    loads.find_postgres()
    found = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        os.chmod(folder, 0o755)
        server = Server(folder)
        try:
            for _ in range(options.rounds):
                for name, words in VARIANTS.items():
                    before = words_before(options.build, words, folder)
                    found[name].append(server.ask(before, options.transactions, folder))
        finally:
            server.process.send_signal(signal.SIGINT)
            server.process.wait()
    print("variant\tus_transaction\tratio\tleast\tmost\tfpless_cpu_s")
    over = 0
    for name, pairs in found.items():
        ratios = [us / none for (us, _), (none, _) in zip(pairs, found["none"])]
        ratio = statistics.median(ratios)
        print("%s\t%.1f\t%.3f\t%.3f\t%.3f\t%.2f" % (name, statistics.median(us for us, _ in pairs), ratio, min(ratios), max(ratios),
                                                   statistics.median(own for _, own in pairs)))
        over += name == JUDGED and ratio > RATIO
    return "above the bound" if over else 0


if __name__ == "__main__":
    sys.exit(main())
