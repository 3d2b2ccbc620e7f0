#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First runs of programs whose frames are larger than what is copied of a stack: is anything lost before their tables?

usage: run.py FPLESS [OLD_FPLESS] [--runs 10] [--hz 499] [--only NAME,...]

Each run lasts 3 s or until the program has ended, without a cache of tables. Needs ffmpeg, python3-numpy and
libopenblas0-pthread. The builds take turns. Prints TSV: of each program and build the share of samples that ended in
read_fault, in per cent, run by run, the largest of them, what else was not complete in all runs, and the samples. Exits
with 1 where a run of the first build has more than 0.2 per cent.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

MOST_PERCENT = 0.2
NUMPY = "import time, numpy as np\nend = time.monotonic() + 3\na = np.random.rand(%d, %d)\nl = np.linalg\n" \
        "while time.monotonic() < end:\n    %s\n"
LINEAR_ALGEBRA = "l.solve(a, a); l.inv(a); l.cholesky(a @ a.T + len(a) * np.eye(len(a))); l.svd(a); l.eig(a); " \
                 "l.qr(a); l.eigh(a + a.T)"


def numpy(size, what):
    return ["/usr/bin/python3", "-c", NUMPY % (size, size, what)]


def ffmpeg(size, *encoder):
    return ["ffmpeg", "-v", "quiet", "-f", "lavfi", "-i", "testsrc2=size=%s:rate=30" % size, "-t", "60", "-c:v",
            *encoder, "-f", "null", "-"]


# (name, command, environment): OpenBLAS takes the kernel of the CPU it runs on, and that of Haswell has the largest frame
PROGRAMS = [
    ("numpy-dgemm", numpy(1500, "a @ a"), {"OPENBLAS_CORETYPE": "Haswell"}),
    ("numpy-dgemm-own-cpu", numpy(1500, "a @ a"), {}),
    ("numpy-linear-algebra", numpy(300, LINEAR_ALGEBRA), {"OPENBLAS_CORETYPE": "Haswell"}),
    ("ffmpeg-x264", ffmpeg("1280x720", "libx264"), {}),
    ("ffmpeg-x265", ffmpeg("640x360", "libx265", "-x265-params", "log-level=none"), {}),
]


def first_run(fpless, folder, hz, words, environment):
    """{stop: samples} of one run, and all of them."""
    stats = os.path.join(folder, "stats")
    command = [fpless, "profile", "--no-cache", "-q", "-U", "-F", str(hz), "-d", "3", "--stats", stats,
               "-o", os.path.join(folder, "out.folded"), "--", *words]
    done = subprocess.run(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("%s: status %d: %s" % (fpless, done.returncode, done.stderr.decode()))
    with open(stats) as file:
        books = json.load(file)
    return collections.Counter(books["stop"]), books["user_samples"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless", nargs="+")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []
    builds = [os.path.realpath(path) for path in options.fpless]
    worst = 0
    print("program\tfpless\tread_fault %%, each run\tmost\tother stops\tsamples\tload %s"
          % open("/proc/loadavg").read().split()[0], flush=True)
    for name, words, environment in PROGRAMS:
        if only and name not in only:
            continue
        seen = {build: [] for build in builds}
        with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
            for i in range(options.runs):
                for build in builds if i % 2 else builds[::-1]:
                    seen[build].append(first_run(build, folder, options.hz, words, environment))
        for build, path in zip(builds, options.fpless):
            shares = [100 * stop["read_fault"] / samples for stop, samples in seen[build]]
            others = sum((stop for stop, _ in seen[build]), collections.Counter())
            others = " ".join("%s %d" % (stop, nr) for stop, nr in others.items()
                              if nr and stop not in ("outermost", "read_fault"))
            print("%s\t%s\t%s\t%.2f\t%s\t%d" % (name, path, " ".join("%.2f" % share for share in shares), max(shares),
                                                others, sum(samples for _, samples in seen[build])), flush=True)
            if build == builds[0]:
                worst = max(worst, *shares)
    return worst > MOST_PERCENT


if __name__ == "__main__":
    sys.exit(main())
