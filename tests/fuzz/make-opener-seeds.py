#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_opener and fuzz_opener_process: make-opener-seeds.py FOLDER"""

import os
import struct
import sys

GOES_ON, IS_SILENT, ENDS = range(3)
NOTHING, PLACE, OPEN_FILE, ENVELOPE, EMPTY_ENVELOPE, TWO, THREE = range(7)
ASK_FILE, WAITED, PASS_TIME, WALK = range(4)
OPEN_OP, WALK_OP, WALK_TRUSTED_OP = range(3)
WITH_NOTHING, WITH_FILE, WITH_FOLDER, WITH_FIFO, WITH_DEVICE, WITH_LINK, WITH_OPEN = range(7)
BEGIN, END = range(2)
FIRST_PID = 4000000
O_CREAT, O_TRUNC, O_RDWR, O_NOFOLLOW, O_PATH = 0o100, 0o1000, 2, 0o400000, 0o10000000
OK, REFUSED = struct.pack("<i", 0), struct.pack("<i", -13)


def message(answer=b"", kind=NOTHING, end=GOES_ON):
    return bytes([end, kind, len(answer)]) + answer


def turn(op, how, *messages, flags=0, text=b"", begins=True):
    """@begins: an opener is begun for it, which is the first thing that is read."""
    return bytes([op, how, flags | len(messages) << 4]) + text + bytes(begins) + b"".join(messages)


def lies():
    opened = turn(ASK_FILE, 1, message(OK, ENVELOPE))
    yield "opened", opened + turn(ASK_FILE, 1, message(OK, ENVELOPE), begins=False)
    yield "refused", turn(ASK_FILE, 0, message(REFUSED)) + turn(WALK, 0, message(REFUSED))
    yield "walked", turn(WALK, 0, message(OK, PLACE)) + turn(WALK, 1, message(OK, PLACE), flags=1)
    yield "trusted", turn(WALK, 0, message(OK, PLACE), flags=8)
    yield "own_path", turn(WALK, 12, message(OK, PLACE), text=b"/proc/self/x")
    yield "file_for_place", turn(WALK, 0, message(OK, OPEN_FILE)) + opened
    yield "place_for_envelope", turn(ASK_FILE, 0, message(OK, PLACE)) + opened
    yield "file_for_envelope", turn(ASK_FILE, 0, message(OK, OPEN_FILE))
    yield "empty_envelope", turn(ASK_FILE, 0, message(OK, EMPTY_ENVELOPE))
    yield "nothing_in_it", turn(ASK_FILE, 0, message(OK))
    yield "too_many", turn(WALK, 0, message(OK, TWO)) + turn(WALK, 0, message(OK, THREE))
    yield "refused_with_file", turn(ASK_FILE, 0, message(REFUSED, OPEN_FILE))
    yield "positive", turn(ASK_FILE, 0, message(struct.pack("<i", 7), ENVELOPE)) + opened
    yield "in_parts", turn(ASK_FILE, 0, message(OK[:2], ENVELOPE), message(OK[2:])) + opened
    yield "more_than_asked", turn(ASK_FILE, 0, message(OK * 2, ENVELOPE)) + turn(ASK_FILE, 0, begins=False)
    yield "ends", turn(ASK_FILE, 0, message(b"", NOTHING, ENDS)) + opened
    yield "ends_in_the_middle", turn(ASK_FILE, 0, message(OK[:3], NOTHING, ENDS)) + opened
    yield "silent", turn(ASK_FILE, 0, *[message(b"", NOTHING, IS_SILENT)] * 15) + opened
    yield "refused_to_begin", bytes([ASK_FILE, 0, 16, 15]) + opened
    slow = b"".join(turn(WAITED, nr % 3, flags=255, begins=False) for nr in range(12))
    yield "slow", slow + turn(PASS_TIME, 255, begins=False) + slow


def question(op, given, flags=0, resolve=0, path=b""):
    return struct.pack("<BBIBBB", op, given, flags, resolve, 0, len(path)) + path


def order(what, given=WITH_NOTHING, pid=0):
    return struct.pack("<BBi", what, given, pid)


def questions():
    yield "open", question(OPEN_OP, WITH_FILE)
    yield "open_others", b"".join(question(OPEN_OP, given) for given in range(7))
    yield "walk", question(WALK_OP, WITH_FOLDER, path=b"file") + question(WALK_OP, WITH_NOTHING, path=b"/proc/self/exe")
    yield "walk_from_file", question(WALK_OP, WITH_FILE, path=b"file") + question(WALK_OP, WITH_LINK, path=b".")
    yield "walk_to_link", question(WALK_OP, WITH_FOLDER, O_NOFOLLOW, path=b"link")
    yield "walk_in_root", question(WALK_OP, WITH_FOLDER, resolve=0x10, path=b"/../file")
    yield "make", question(WALK_OP, WITH_FOLDER, O_CREAT | O_RDWR, path=b"new")
    yield "cut", question(WALK_OP, WITH_FOLDER, O_TRUNC | O_RDWR, path=b"file")
    yield "write", question(WALK_OP, WITH_FOLDER, O_RDWR, path=b"file")
    yield "open_fifo_by_walk", question(WALK_OP, WITH_FOLDER, O_RDWR, path=b"fifo")
    yield "trusted", question(WALK_TRUSTED_OP, WITH_NOTHING, path=b"link") + question(WALK_TRUSTED_OP, 0, path=b"/x/../..")
    yield "no_end", question(WALK_OP, WITH_FOLDER) + question(WALK_TRUSTED_OP, WITH_NOTHING)
    yield "unknown", question(77, WITH_FILE, O_PATH, 255, b"file")


def orders():
    yield "begin", order(BEGIN, WITH_OPEN) + order(BEGIN, WITH_FILE) + order(END, pid=FIRST_PID)
    yield "begin_without", order(BEGIN)
    yield "end_others", b"".join(order(END, pid=pid) for pid in (1, -1, 0, 2, 12345, FIRST_PID + 30))
    yield "end_twice", order(BEGIN, WITH_OPEN) + order(END, pid=3 * 32) * 2 + order(END, pid=FIRST_PID) * 2
    yield "cut_short", order(BEGIN, WITH_OPEN)[:-1]
    yield "unknown_order", order(200, WITH_OPEN, 3)


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def main():
    for name, data in lies():
        write(os.path.join(sys.argv[1], "fuzz_opener"), name, data)
    for name, data in questions():
        write(os.path.join(sys.argv[1], "fuzz_opener_process"), name, b"\0" + data)
    for name, data in orders():
        write(os.path.join(sys.argv[1], "fuzz_opener_process"), "order_" + name, b"\1" + data)


if __name__ == "__main__":
    main()
