#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_mountinfo and fuzz_proc_status: make-proc-seeds.py FOLDER (which has a folder of each)"""

import os
import sys

ROOT = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
V1 = b"31 22 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
V1_MEMORY = b"32 22 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = b"30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
PART = b"30 22 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
FUSE = b"70 22 0:51 / /home/u/m\\040- rw,nosuid - fuse.sshfs h:/x\\012-\\040cgroup2 rw,user_id=1000\n"
OVERLAY = b"80 22 0:60 / /o rw - overlay o ro,lowerdir=/a:/b\\\\:c::/d,upperdir=/u,workdir=/w\n"

MOUNTS = {
    "overlay": ROOT + OVERLAY + b"\0" b"0::/\n",
    "overlay_above_fuse": ROOT + FUSE + OVERLAY.replace(b"/a:", b"/home/u/m\\040-:"),
    "overlay_of_itself": ROOT.replace(b"ext4", b"overlay") + OVERLAY.replace(b"/a:", b"/o/x:/o:"),
    "overlay_without_layers": ROOT + OVERLAY.replace(b"lowerdir=", b"x="),
    "overlays": ROOT + b"".join(OVERLAY.replace(b"0:60", b"0:%d" % (60 + nr)).replace(b"/o ", b"/o%d " % nr)
                                .replace(b"/a:", b"/o%d/x:" % (nr + 1)) for nr in range(7)),
    "v2": ROOT + V2 + b"\0" b"0::/user.slice/a\n",
    "v1": ROOT + V1 + V1_MEMORY + b"\0" b"3:cpu,cpuacct:/x\n2:memory:/a/b\n",
    "hybrid": V1 + V1_MEMORY + V2 + b"\0" b"2:memory:/a\n0::/c\n",
    "part": PART + V2 + b"\0" b"0::/docker/1/sub\n",
    "beyond": V2 + b"\0" b"0::/../../other\n",
    "elsewhere": PART + b"\0" b"0::/docker/12\n",
    "fuse": FUSE + V2 + b"\0" b"0::/a\n",
    "octal": b"30 22 0:26 / /c\\040g\\134\\011 rw - cgroup2 c rw\n\0" b"0::/a b\n",
    "octal_cut": b"30 22 0:26 / /c\\04 rw - cgroup2 c rw\n\0" b"0::/\n",
    "fields_cut": b"30 22 - cgroup2 c rw\n - cgroup2\n-\n\n\0" b"0:\n::\nmemory\n2:memory",
    "no_path": PART + b"30 22 0:26 /  - cgroup2 c rw\n\0" b"0::/\n",
    "long": b"30 22 0:26 / /" + b"x" * 5000 + b" rw - cgroup2 c rw\n" + V2 + b"\0" b"0::/a\n",
    "no_newline": V2[:-1] + b"\0" b"0::/a",
    "tags": b"30 22 0:26 / /c rw shared:1 master:2 propagate_from:3 - cgroup2 none rw\n\0" b"0::/\n",
}

STATUS = (b"Name:\tcat\nUmask:\t0022\nState:\tR (running)\nTgid:\t17\nNgid:\t0\nPid:\t17\nPPid:\t1\n"
          b"TracerPid:\t0\nUid:\t0\t0\t0\t0\nGroups:\t0 4 27 \nVmSize:\t    5760 kB\n")

STATUSES = {
    "status": STATUS,
    "name_like_a_key": STATUS.replace(b"cat", b"Tgid: 1"),
    "name_like_a_line": STATUS.replace(b"cat", b"a\\nTgid:\\t1"),
    "groups": STATUS.replace(b"0 4 27", b"1000000 " * 40 + b"Tgid: 9"),
    "groups_to_the_buffer": b"Groups:\t" + b"1 " * 59 + b"\nTgid:\t17\n" + STATUS,
    "largest": b"VmSize:\t9223372036854775807 kB\n",
    "too_large": b"VmSize:\t9223372036854775808 kB\n",
    "no_value": b"Tgid:\nTracerPid: x\nVmSize:\t-1\n",
    "far": b"Tgid:" + b" " * 120 + b"17\n",
    "stat": b"17 (cat) R 1 17 17 0 -1 4194560 113",
    "stat_parentheses": b"17 () R (x)) Z 1 17",
    "stat_cut": b"17 (cat)",
    "stat_no_name": b"17",
}


def main():
    for name, seeds in (("fuzz_mountinfo", MOUNTS), ("fuzz_proc_status", STATUSES)):
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for seed, content in seeds.items():
            with open(os.path.join(folder, seed), "wb") as file:
                file.write(content)


if __name__ == "__main__":
    main()
