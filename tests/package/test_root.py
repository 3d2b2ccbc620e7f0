#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: test_root.py FOLDER

Leaves in FOLDER a fresh Debian, packed: the tests that install something unpack it."""

import os
import sys

import fresh_root


def test(folder, work):
    """As root.tar, which is there only where it is whole."""
    path = os.path.join(folder, fresh_root.PACKED)
    if os.path.exists(path):
        os.remove(path)
    made = os.path.join(work, fresh_root.PACKED)
    fresh_root.FreshRoot(work).pack(made)
    os.rename(made, path)
    print(f"{os.path.getsize(path) >> 20} MiB")


if __name__ == "__main__":
    fresh_root.main(sys.argv[1], lambda work: test(os.path.abspath(sys.argv[1]), work))
