#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_setup.py SOURCE FOLDER FOLDER_OF_ROOT

The first command of the README, from nothing: in the fresh Debian of test_root.py tools/quickstart.sh installs what it
needs, builds fpless and its manual, shows the stacks of a profile and ends with the path of a picture of them. What it has
built can be packed."""

import os
import re
import sys

import fresh_root
import source_copy


def test(source, work):
    """The end of what it prints."""
    root = fresh_root.FreshRoot(work, fresh_root.packed_root(sys.argv[3]))
    source_copy.copy(source, os.path.join(root.path, "root/fpless"))
    said = root.run("sh", "/root/fpless/tools/quickstart.sh", **kept_objects(root))
    print(said[-1500:])
    assert re.search(r"^Hottest functions", said, re.M), said[-6000:]
    assert re.search(r"^fpless: [\d,]{3,} samples in [\d.]+ s, (9[7-9]\.\d|100) % complete, none lost$", said, re.M), said[-6000:]
    assert not re.search(r"^  books ", said, re.M), said[-6000:]
    picture = re.fullmatch(r".*: file://(/\S+/flame\.svg)", said.rstrip().split("\n")[-1])
    assert picture, said[-500:]
    with open(root.path + picture.group(1), encoding="utf-8") as file:
        assert re.search("Perl_pp_[a-z]+", file.read())
    check_package(root)


def kept_objects(root):
    """The variables of a build there with the caller's ccache. What lacks there is found none the less: an object is taken
    from the cache only where each header it was made of is in the root, and is the same."""
    cache = source_copy.compiler_cache("/root/fpless")
    if cache:
        root.run("apt-get", "-q", "-y", "--no-install-recommends", "install", "ccache")
        root.share(cache["CCACHE_DIR"], "/var/cache/ccache")
        cache["CCACHE_DIR"] = "/var/cache/ccache"
    return cache


def check_package(root):
    """cpack works in the folder that the script has built, as the README says, and the manual is in the package."""
    root.run("sh", "-c", "cd /root/fpless/build/quickstart && cpack")
    held = root.run("sh", "-c", "dpkg-deb --contents /root/fpless/build/quickstart/fpless_*.deb")
    for name in ("/usr/bin/fpless\n", "/man1/fpless-profile.1.gz\n", "/completions/fpless\n"):
        assert name in held, (name, held)


if __name__ == "__main__":
    fresh_root.main(sys.argv[2], lambda work: test(os.path.abspath(sys.argv[1]), work))
