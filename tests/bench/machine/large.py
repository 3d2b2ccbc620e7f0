# SPDX-License-Identifier: Apache-2.0
"""While the table of a binary of 230 MB is compiled: do the samples of other processes wait for it?"""

import os
import struct
import subprocess
import sys
import time

from copies import LOOP, make_copy
from measure import Run, compile_c

import shutil

PAGE = 4096
FUNCTION_BYTES = 448
SPIN = bytes.fromhex("55" "4889e5" "4889f9" "48ffc9" "75fb" "5d" "c3")  # push, mov, mov rcx, dec, jne, pop, ret

# Maps the object and runs its last function, forever.
DRIVER = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[1], O_RDONLY) : -1;
	uint8_t *text = mmap(NULL, strtoul(argv[3], NULL, 0), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)strtoul(argv[2], NULL, 0));
	if (text == MAP_FAILED) return 1;
	for (;;) ((void (*)(uint64_t))text)(1000000);
}
"""


def pad(data, size):
    return data + b"\0" * (-len(data) % size)


def make_object(path, megabytes):
    """A shared object whose .eh_frame has rows for all of its code: 4 a function. (offset, size) of the code."""
    nr = megabytes * 1000000 // (FUNCTION_BYTES + 32)
    frame_off = text_vaddr_off = None
    cie = b"\0\0\0\0" + b"\1zR\0" + b"\1\x78\x10" + b"\1\x1b" + b"\x0c\7\x08\x90\1"
    cie = struct.pack("<I", len(pad(cie, 4))) + pad(cie, 4)
    # advance_loc 1; cfa_offset 16; rbp at c-16; advance_loc 3; cfa_register rbp; advance_loc 9; cfa rsp+8
    program = bytes.fromhex("41" "0e10" "8602" "43" "0d06" "49" "0c0708")
    body = 4 + 8 + 1 + len(program)
    fde_size = 4 + (body + 3 & ~3)
    headers_size = 64 + 3 * 56
    hdr_off = (headers_size + 15) & ~15
    frame_off = hdr_off + 16
    frame_size = len(cie) + nr * fde_size + 4
    text_off = (frame_off + frame_size + PAGE - 1) & ~(PAGE - 1)
    text_size = nr * FUNCTION_BYTES
    with open(path, "wb") as file:
        file.write(b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0))
        for kind, flags, off, size in ((1, 4, 0, frame_off + frame_size), (1, 5, text_off, text_size), (0x6474e550, 4, hdr_off, 16)):
            file.write(struct.pack("<IIQQQQQQ", kind, flags, off, off, off, size, size, PAGE if kind == 1 else 4))
        file.write(b"\0" * (hdr_off - file.tell()))
        # eh_frame_hdr: pcrel sdata4 pointer to .eh_frame, no search table
        file.write(struct.pack("<BBBBi", 1, 0x1b, 0xff, 0xff, frame_off - (hdr_off + 4)) + b"\0" * 8)
        file.write(cie)
        tail = pad(program, 1) + b"\0" * ((body + 3 & ~3) - body)
        at = frame_off + len(cie)
        chunk = []
        for i in range(nr):
            chunk.append(struct.pack("<IIiI", fde_size - 4, at + 4 - frame_off, text_off + i * FUNCTION_BYTES - (at + 8),
                                     FUNCTION_BYTES) + b"\0" + tail)
            at += fde_size
            if len(chunk) == 65536:
                file.write(b"".join(chunk))
                chunk = []
        file.write(b"".join(chunk) + b"\0\0\0\0")
        file.write(b"\0" * (text_off - file.tell()))
        function = SPIN + b"\x90" * (FUNCTION_BYTES - len(SPIN))
        for i in range(0, nr, 4096):
            file.write(function * min(4096, nr - i))
    return text_off, text_size


def bench(fpless, folder, figures, options):
    path = os.path.join(folder, "large.so")
    driver = compile_c(folder, "driver", DRIVER)
    off, size = make_object(path, options.megabytes)
    python = os.path.realpath(shutil.which("python3"))
    script = os.path.join(folder, "loop.py")
    with open(script, "w") as file:
        file.write(LOOP)
    busy = subprocess.Popen([sys.executable, "-c", "n = 0\nwhile True: n = (n * 7919 + 1) % 10007"])
    runs = []
    try:
        for i in range(options.rounds):
            with open(path, "r+b") as file:  # another file than the last time
                file.seek(off + size - 8)
                file.write(os.urandom(8))
            copy = os.path.join(folder, "small%d" % i)
            make_copy(python, copy)
            # the large one first, and then programs that begin while it is compiled
            shell = '"$1" "$2" "$3" "$4" & large=$!; sleep 0.1; for i in 1 2 3 4; do "$5" "$6"; done; kill $large'
            runs.append(Run(fpless, "-F", "999", "--", "sh", "-c", shell, "sh", driver, path, str(off), str(size), copy,
                            script, keep=True))
            time.sleep(0.1)
    finally:
        busy.kill()
        busy.wait()
    figures.common("large", runs, least_complete=None)
    others = [stack for run in runs for stack in run.stacks if stack["comm"].startswith("small") and stack["stop"]]
    judged = sum(stack["count"] for stack in others if stack["stop"] not in ("exiting", "execing"))
    figures.say("large", "programs that begin meanwhile: user samples", judged)
    figures.say("large", "the same: complete %", 100 * sum(
        stack["count"] for stack in others if stack["stop"] == "outermost") / max(judged, 1), least=99.0)
    figures.say("large", "the same: no_table %", 100 * sum(
        stack["count"] for stack in others if stack["stop"] == "no_table") / max(judged, 1), most=0.5)
    figures.say("large", "rows in the pool, millions", max(run.stats["tables"]["rows"] for run in runs) / 1e6)
    figures.say("large", "peak RssAnon, MB", max(run.stats["rss_peak_bytes"] for run in runs) / 1e6)
