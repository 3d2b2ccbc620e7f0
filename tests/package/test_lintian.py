#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_lintian.py FOLDER

lintian finds no error and nothing to warn of in the packages that test_build.py has left in FOLDER,
but for what debian/fpless.lintian-overrides explains."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import source_copy


def main():
    """Exit status: 0, 1, or 77 where it cannot run."""
    folder = os.path.abspath(sys.argv[1])
    wanted = [*glob.glob(os.path.join(folder, "*.changes")), *source_copy.packages(folder).values(),
              *glob.glob(os.path.join(folder, "cpack", "*.deb"))]
    if not shutil.which("lintian"):
        print("SKIP: lintian is not installed")
        return 77
    assert len(wanted) == 7, wanted
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(["lintian", "--no-cfg", "--fail-on", "error,warning", *wanted],
                              env=source_copy.environment(home), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
