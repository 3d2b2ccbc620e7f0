#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_trampoline: make-trampoline-seeds.py FOLDER. Each is the code at the beginning of a mapping."""

import os
import sys

QEMU = "55 53 4154 4155 4156 4157 4889fd 4881c478fbffff"
GUILE = "4883ec18 48891c24 4c89642408 4c896c2410 4889fb 4989f4 488b4310 488b4b18"
SEEDS = {
    "qemu": QEMU + "ffe6",
    "guile": GUILE + "49ffe4",
    "php": "4155 4154 55 53 4883ec78 6448",
    "pcre2": "53 4157 4156 4155 55 4889fb 4881ec80000000 488b4310",
    "endbr64": "f30f1efa" + QEMU + "ffe6",
    "pushes": "50" * 64,
    "half": GUILE[:20],
    "2-gib": "4881c400000080 ffe6",
    "lost": "4889fb 53 4883ec08 ffe0",
}


def main():
    for name, code in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(bytes.fromhex(code))


if __name__ == "__main__":
    main()
