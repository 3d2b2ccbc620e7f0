#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_install.py FOLDER FOLDER_OF_ROOT

The package that test_build.py left in FOLDER, in the fresh Debian of test_root.py: installed by apt, it profiles a perl
of that Debian to the outermost frame, and is removed without a trace."""

import glob
import json
import os
import shutil
import sys

import fresh_root

# What apt, dpkg, the linker and the tools that make users keep of every installation.
KEPT = {"/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/cache/debconf", "/var/log",
        "/var/cache/ldconfig", "/etc/ld.so.cache", "/etc/shadow-", "/etc/gshadow-", "/tmp", "/root", "/dev",
        "/proc", "/sys", "/run"}
BUSY = "$n += $_ % 7 for 1 .. 3e7; print $n"


def profile(root):
    """Its stacks are whole, its books closed."""
    root.run("fpless", "doctor")
    said = root.run("fpless", "profile", "-e", "cpu-clock", "-F", "499", "--stats", "/root/s.json",
                    "-o", "/root/o.folded", "--", "perl", "-e", BUSY)
    with open(os.path.join(root.path, "root/s.json"), encoding="utf-8") as file:
        stats = json.load(file)
    judged = stats["user_samples"] - stats["stop"]["exiting"] - stats["stop"]["execing"]
    assert judged > 100 and stats["complete"] >= 0.97 * judged, said
    assert not sum(stats["lost"].values()) and "  books" not in said, said
    with open(os.path.join(root.path, "root/o.folded"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    mains = sum(int(line.rsplit(" ", 1)[1]) for line in lines
                if line.startswith("perl;_start;") and ";main;" in line)
    assert mains >= 0.9 * judged, lines
    assert root.run("fpless", "report", "-q", "-f", "/root/o.folded").count("\n") == len(lines)
    # Beside something to see: an idle machine has no sample to show, which is an error.
    beside = "perl -e '1 while 1' & fpless-bcc-profile 1; status=$?; kill $!; exit $status"
    assert "Sampling at 49 Hertz" in root.run("sh", "-c", beside)
    # bcc's own names, for who has that folder first in PATH.
    beside = beside.replace("fpless-bcc-profile 1", "PATH=/usr/lib/fpless/bcc:$PATH; profile -adf 1 && profile-bpfcc -U 1")
    assert "Sampling at 49 Hertz" in root.run("sh", "-c", beside)
    assert not os.path.lexists(os.path.join(root.path, "usr/sbin/profile-bpfcc")), "the name is bpfcc-tools'"
    assert os.path.isdir(os.path.join(root.path, "var/cache/fpless")), "no tables were kept"
    return f"{stats['complete']} of {judged} user stacks complete"


def test(folder, work):
    """Install, use, remove."""
    deb = glob.glob(os.path.join(folder, "fpless_*.deb"))[0]
    root = fresh_root.FreshRoot(work, fresh_root.packed_root(sys.argv[2]))
    before = root.files(KEPT)
    shutil.copy(deb, os.path.join(root.path, "root/fpless.deb"))
    root.run("apt-get", "-q", "-y", "--no-install-recommends", "install", "/root/fpless.deb")
    for path in root.run("dpkg", "-L", "fpless").split():
        assert os.path.lexists(root.path + path), path
    print(profile(root))
    root.run("apt-get", "-q", "-y", "--auto-remove", "purge", "fpless")
    after = root.files(KEPT)
    left = {path for path in after if path not in before}
    gone = {path for path in before if path not in after}
    assert not left and not gone, (sorted(left), sorted(gone))


if __name__ == "__main__":
    if not glob.glob(os.path.join(sys.argv[1], "fpless_*.deb")):
        fresh_root.skip("package.build has left nothing to install")
    fresh_root.main(sys.argv[1], lambda work: test(os.path.abspath(sys.argv[1]), work))
