# SPDX-License-Identifier: Apache-2.0
"""Tests of one file side by side: tests that wait for most of their time, for the kernel or for a program, need not wait
one after another."""

import concurrent.futures
import os
import subprocess
import sys
import unittest

ONLY = "FPLESS_TEST_ONLY"  # in a child: the one test that it runs


def names(suite):
    """`Class.test` of each test of a suite of __main__."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names(test)
        else:
            yield test.id().removeprefix("__main__.")


def run_one(name):
    """One test in a process of its own: how it ended, and what it said."""
    done = subprocess.run([sys.executable, *sys.argv], env=dict(os.environ, **{ONLY: name}), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="backslashreplace", check=False)
    return done.returncode, done.stdout


def run(nr):
    """All tests of __main__, @nr at a time; the exit status. What they say comes in their order, the sum last."""
    every = list(names(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(nr) as pool:
        for name, (status, said) in zip(every, pool.map(run_one, every)):
            print(said, flush=True)
            if status:
                failed.append(f"{name} (exit status {status})")
    print(f"{len(every)} tests, {nr} at a time; failed: {', '.join(failed) or 'not one'}")
    return 1 if failed or not every else 0


def main(nr, **options):
    """As unittest.main(), with @nr tests at a time."""
    only = os.environ.get(ONLY)
    if nr > 1 and not only:
        sys.exit(run(nr))
    unittest.main(argv=[sys.argv[0], only] if only else sys.argv[:1], **options)
