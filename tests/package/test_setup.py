#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_setup.py SOURCE FOLDER

The first command of the README, from nothing: in a fresh Debian tools/quickstart.sh installs what it
needs, builds fpless and shows the stacks of a profile."""

import os
import re
import sys

import fresh_root
import source_copy


def test(source, work):
    """The end of what it prints."""
    root = fresh_root.FreshRoot(work)
    source_copy.copy(source, os.path.join(root.path, "root/fpless"))
    said = root.run("sh", "/root/fpless/tools/quickstart.sh")
    print(said[-1500:])
    assert re.search(r"^Hottest functions", said, re.M), said[-6000:]
    assert re.search(r"^fpless: [\d,]{3,} samples in [\d.]+ s, (9[7-9]\.\d|100) % complete, none lost$", said, re.M), said[-6000:]
    assert not re.search(r"^  books ", said, re.M), said[-6000:]


if __name__ == "__main__":
    fresh_root.main(sys.argv[2], lambda work: test(os.path.abspath(sys.argv[1]), work))
