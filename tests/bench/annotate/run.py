#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long does fpless annotate take for a long function?

usage: run.py FPLESS [--insns N] [--runs N]

A function of about N instructions (10000) on N / 4 lines, and a recording with a sample at each; fpless annotate, perf annotate
--stdio of the same samples, where perf is, and objdump -dl of the function take turns. One line of TSV for each: the median, the
worst, and how many times as long as fpless it took. It fails where fpless takes more than 0.3 s in the median.
"""

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT_S = 0.3
HERE = os.path.dirname(os.path.realpath(__file__))


def load_test():
    """What makes programs, recordings and perf.data is in the test."""
    path = os.path.join(HERE, "..", "..", "cli", "test_annotate.py")
    spec = importlib.util.spec_from_file_location("test_annotate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_program(path, nr_insns):
    """Lines of about four instructions, with branches over each other."""
    lines = [f"\tif (x > {n}) x = x * {3 + n % 7}u ^ {n}u;" if n % 3 == 0 else f"\tx ^= x << {1 + n % 13}; sum += x;"
             for n in range(nr_insns // 4)]
    with open(path, "w", encoding="ascii") as file:
        file.write("__attribute__((noinline)) unsigned work(unsigned x)\n{\n\tunsigned sum = 0;\n" + "\n".join(lines)
                   + "\n\treturn sum + x;\n}\nint main(int argc, char **argv) { (void)argv; return (int)work((unsigned)argc); }\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fpless")
    parser.add_argument("--insns", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    sys.argv = [sys.argv[0], args.fpless]
    test = load_test()
    with tempfile.TemporaryDirectory(prefix="fpless-bench-") as folder:
        source, program, data = (os.path.join(folder, name) for name in ("big.c", "big", "perf.data"))
        write_program(source, args.insns)
        subprocess.run(["gcc", "-O1", "-g", "-fcf-protection=none", "-Wl,--build-id", source, "-o", program], check=True)
        insns = test.instructions(program, "work")
        recording = os.path.join(folder, "big.jsonl")
        test.write_recording(recording, [(1, [test.frame_of(program, test.build_id_of(program), vaddr, "work", insns[0])], [])
                                         for vaddr in insns])
        commands = {"fpless annotate": [args.fpless, "annotate", "work", recording],
                    "fpless annotate --json": [args.fpless, "annotate", "--json", "work", recording],
                    "objdump -dl": ["objdump", "-dl", "--disassemble=work", program]}
        if shutil.which("perf"):
            test.write_perf_data(data, program, dict.fromkeys(insns, 1))
            commands["perf annotate --stdio"] = ["perf", "annotate", "--stdio", "-i", data, "-s", "work"]
        taken = {name: [] for name in commands}
        for _ in range(args.runs):
            for name, command in commands.items():
                began = time.monotonic()
                subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder})
                taken[name].append(time.monotonic() - began)
    own = statistics.median(taken["fpless annotate"])
    print(f"what\tinstructions\tmedian s\tworst s\ttimes {'fpless annotate'}")
    for name, times in taken.items():
        print(f"{name}\t{len(insns)}\t{statistics.median(times):.3f}\t{max(times):.3f}\t{statistics.median(times) / own:.2f}")
    if own > LIMIT_S:
        sys.exit(f"fpless annotate takes {own:.3f} s, at most {LIMIT_S} are expected")


if __name__ == "__main__":
    main()
