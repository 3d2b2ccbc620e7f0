# SPDX-License-Identifier: Apache-2.0
"""Which ways of walking a change to the sources touches: the programs of --since are chosen by them."""

import subprocess

# cfi: rows of CFI. expr: rules beyond a register and an offset. fp: steps by frame pointers. synth: rows made from code.
# go: Go's own tables. jit: code in no file. deep: stacks of many frames. signals. threads. uretprobe. large: large frames.
# burst: short programs, many samples before tables.
WAYS = {"cfi", "expr", "fp", "synth", "go", "jit", "deep", "signals", "threads", "uretprobe", "large", "burst"}
# The first that a path begins with decides.
TOUCHED = [
    ("unwind/synth/", {"synth"}),
    ("unwind/go_", {"go"}),
    ("unwind/cfa_expr", {"expr"}),
    ("bpf/walk_fp.h", {"fp", "jit"}),
    ("bpf/leaf_", {"fp", "jit"}),
    ("bpf/fp_chain.h", set()),
    ("bpf/", WAYS),
    ("unwind/", WAYS),
    ("src/profile/", WAYS),
    ("src/proc/", WAYS),
    ("src/obj/", WAYS),
    ("src/parse/", WAYS),
    ("src/base/", WAYS),
    ("tests/bench/programs/", WAYS),
    ("", set()),  # names, formats, views, tests, documents
]


def touched(paths):
    return set().union(*(next(ways for prefix, ways in TOUCHED if path.startswith(prefix)) for path in paths))


def since(commit):
    """Of the tree that is checked out, files not yet committed included."""
    done = subprocess.run(["git", "diff", "--name-only", commit, "--"], stdout=subprocess.PIPE, text=True, check=True)
    return touched(done.stdout.split())
