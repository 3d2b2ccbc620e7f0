# SPDX-License-Identifier: Apache-2.0
"""A guest in which systemd is the first process: a packed Debian (tests/package/fresh_root.py), unpacked into memory."""

import os
import shutil

import guest

MEMORY_MB = 1536  # the packed Debian and the unpacked one are in it at the same time for a moment
PACKED = "/root.tar"
NEW = "/new"
INIT = guest.HEAD + guest.MOUNT + f"""mount -t tmpfs -o mode=755,size=100% tmpfs {NEW}
tar -C {NEW} -xf {PACKED}
rm {PACKED}
cp /job.sh {NEW}/job.sh
exec switch_root {NEW} /lib/systemd/systemd
"""
# The console is the job's: no login there.
SERVICE = """[Unit]
Description=the job of this guest
[Service]
ExecStart=/bin/sh /run-job.sh
"""
JOB = guest.HEAD + "exec > /dev/ttyS0 2>&1\n" + guest.RUN


def prepare(root):
    """Makes @root, the folder of a Debian that has systemd, one whose job begins with the other services."""
    units = os.path.join(root, "etc/systemd/system")
    os.makedirs(os.path.join(units, "multi-user.target.wants"), exist_ok=True)
    for path, text in ((os.path.join(units, "job.service"), SERVICE), (os.path.join(root, "run-job.sh"), JOB)):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    os.symlink("../job.service", os.path.join(units, "multi-user.target.wants/job.service"))
    os.symlink("/dev/null", os.path.join(units, "getty.target"))


def archive(packed):
    """The initramfs of a guest with the Debian in the file @packed."""
    made = guest.base_archive()
    made.folder(NEW)
    for tool in ("rm", "switch_root"):
        made.program(shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"))
    with open(packed, "rb") as file:
        made.data(PACKED, file.read())
    return made
