#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: same_bytes.py SOURCE FOLDER

Builds the packages again, elsewhere, by another user with another umask, in another time zone, on a
host of another name, one job at a time: they are those that test_build.py left in FOLDER, byte by
byte."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

import source_copy

OTHER = 65534  # nobody


def digests(paths):
    """{name: digest}"""
    found = {}
    for name, path in paths.items():
        with open(path, "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def other_host():
    """What makes a build one of another user on another host, as far as this one may."""
    prefix = []
    if os.geteuid() == 0:
        if subprocess.run(["unshare", "--uts", "true"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            prefix += ["unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh"]
        prefix += ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
    return prefix


def main():
    """Exit status: 0, 1, or 77 where there is nothing to compare with."""
    source, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    one = (source_copy.packages(folder), source_copy.packages(os.path.join(folder, "cpack"))) \
        if os.path.isdir(os.path.join(folder, "cpack")) else ({}, {})
    if not one[0]:
        print("SKIP: package.build has left nothing to compare with")
        return 77
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        beside = os.path.join(work, "somewhere else", "a longer path than the first")
        os.makedirs(beside)
        tree = os.path.join(beside, "tree")
        source_copy.copy(source, tree)
        if os.geteuid() == 0:
            for path, folders, names in os.walk(beside):
                for name in (".", *folders, *names):
                    os.lchown(os.path.join(path, name), OTHER, OTHER)
        before = os.umask(0o077)
        try:
            two = source_copy.build(tree, 1, other_host(), TZ="Pacific/Kiritimati",
                                    LC_ALL="C", USER="somebody")
        finally:
            os.umask(before)
        if source_copy.has_html(folder) != source_copy.has_html(beside):
            print("SKIP: npm's registry has answered one of the two builds only")
            return 77
        differ = 0
        for first, second in zip(one, two):
            if digests(first) == digests(second):
                print(*(f"{digest}  {name}" for name, digest in digests(first).items()), sep="\n")
                continue
            differ = 1
            print(f"not the same:\n{digests(first)}\n{digests(second)}")
            if shutil.which("diffoscope"):
                for name in first:
                    subprocess.run(["diffoscope", first[name], second[name]], check=False)
        return differ


if __name__ == "__main__":
    sys.exit(main())
