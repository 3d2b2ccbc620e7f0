#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_debug_candidates: make-candidate-seeds.py FOLDER"""

import os
import sys

ID = bytes(range(20))


def debuglink(name, crc=b"\x01\x02\x03\x04"):
    return (name + b"\0").ljust((len(name) + 4) // 4 * 4, b"\0") + crc


def altlink(path, build_id=ID):
    return path + b"\0" + build_id


def seed(build_id=ID, link=debuglink(b"prog.debug"), alt=altlink(b"../../.dwz/deb/prog.debug"), path=b"/usr/bin/prog",
         links=(b"d", b"a/f", b"../b"), walk=b"b"):
    return b"".join(bytes([len(field)]) + field for field in (build_id, link, alt, path, *links, walk))


SEEDS = {
    "usual": seed(),
    "no_build_id": seed(build_id=b""),
    "build_id_of_a_byte": seed(build_id=b"x"),
    "build_id_too_long": seed(build_id=bytes(65)),
    "link_is_a_path": seed(link=debuglink(b"../shadow")),
    "link_is_the_folder": seed(link=debuglink(b"..")),
    "link_without_an_end": seed(link=b"prog.debug"),
    "link_empty": seed(link=debuglink(b"")),
    "link_long": seed(link=debuglink(b"n" * 245)),
    "alt_leads_out": seed(alt=altlink(b"/x/.dwz/../../etc/shadow")),
    "alt_absolute": seed(alt=altlink(b"/usr/lib/debug/.dwz//etc/shadow")),
    "alt_without_id": seed(alt=altlink(b"x.debug", b"")),
    "path_relative": seed(path=b"prog"),
    "path_of_a_container": seed(path=b"/../../etc/prog"),
    "path_empty": seed(path=b""),
    "walk_to_itself": seed(links=(b"a", b"b", b"c"), walk=b"a"),
    "walk_around": seed(links=(b"b", b"a", b"d"), walk=b"a"),
    "walk_out": seed(links=(b"/", b"..", b"../../.."), walk=b"d/c/etc"),
    "walk_through_a_file": seed(links=(b"d/f", b"d/f/", b"f"), walk=b"a/x"),
    "walk_slashes": seed(links=(b"d//", b"./d/./f", b"f"), walk=b"a///c/"),
    "walk_proc": seed(links=(b"/proc/self/fd/0", b"/proc/self/root", b"f"), walk=b"b/proc/self/cwd"),
    "walk_long": seed(links=(b"d/" * 100, b"a/" * 100 + b"f", b"../b"), walk=b"d/c"),
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, content in SEEDS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
