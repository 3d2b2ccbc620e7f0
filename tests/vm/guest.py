# SPDX-License-Identifier: Apache-2.0
"""Boots a kernel under qemu, without hardware support, with an initramfs of this machine's files,
runs a shell script in it and brings back the files it leaves in /out."""

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time

from initramfs import Initramfs

QEMU = "qemu-system-x86_64"
TOOLS = ["sh", "mount", "cat", "stty", "tar", "gzip", "sleep", "ls", "mkdir", "head", "tail", "grep", "cp", "dmesg", "uname"]
CONSOLE_TAIL = 40

HEAD = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
"""
MOUNT = """mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
"""
# The results leave through a serial port of their own: the cloud kernels have drivers for disks
# only as modules. The reset is the end: qemu is told not to reboot.
RUN = """mkdir /out
echo 1 > /proc/sys/kernel/sysrq
stty -F /dev/ttyS1 raw -echo 115200
echo GUEST-READY
cd /
sh /job.sh < /dev/null
echo "GUEST-DONE $?"
tar -C /out -cf - . | gzip -1f > /dev/ttyS1
echo GUEST-SENT
stty -F /dev/ttyS0 sane  # waits until all has left
echo b > /proc/sysrq-trigger
"""


class GuestFailed(Exception):
    """The guest did not come to its end; the message holds the end of its console."""


PART = "GUEST-PART "  # a line of the console that names the part of the script that begins


def part(name):
    """The line of a script at which the part @name of it begins."""
    return f"echo '{PART}{name}'\n"


class Guest:
    """A run of a script in a guest: `status` of the script, `console`, `folder` with its files;
    seconds until the script began (boot_s), until all had ended, and of CPU on this machine;
    `parts`: (seconds of CPU on this machine, name) of each part of the script. @init: the first process, which
    has /job.sh run as RUN does."""

    def __init__(self, kernel, archive, script, folder, timeout_s=300, memory_mb=768, echo=None, init=HEAD + MOUNT + RUN):
        self.folder = folder
        self.boot_s = self.total_s = self.cpu_s = 0.0
        self.parts = []
        archive.text("/init", init, 0o755)
        archive.text("/job.sh", script, 0o755)
        self.console = self._run(kernel, archive, timeout_s, memory_mb, echo)
        self.status = self._status()

    def __str__(self):
        return f"booted in {self.boot_s:.1f} s, {self.total_s:.1f} s in all, {self.cpu_s:.1f} s of CPU"

    def _run(self, kernel, archive, timeout_s, memory_mb, echo):
        with tempfile.TemporaryDirectory(prefix="fpless-vm-") as work:
            initramfs, sent = os.path.join(work, "initramfs"), os.path.join(work, "sent")
            with open(initramfs, "wb") as file:
                file.write(archive.bytes())
            lines, end = self._wait(command(kernel, initramfs, sent, memory_mb), timeout_s, echo)
            console = "\n".join(lines)
            if not any(line.startswith("GUEST-SENT") for line in lines):
                raise GuestFailed(f"{kernel}: the guest {end}\n"
                                  + "\n".join(lines[-CONSOLE_TAIL:]))
            with open(sent, "rb") as file, \
                    tarfile.open(fileobj=io.BytesIO(file.read()), mode="r:gz") as tar:
                # Debian 12's Python has no filter of its own: plain files and folders, all inside.
                tar.extractall(self.folder, [member for member in tar.getmembers()
                                             if (member.isfile() or member.isdir())
                                             and not member.name.startswith("/")
                                             and ".." not in member.name.split("/")])
            return console

    def _wait(self, words, timeout_s, echo):
        """The lines of the console, and how it ended."""
        start, lines, before = time.monotonic(), [], os.times()
        begun = [(0.0, "boot")]
        # `timeout` ends a guest that hangs, also where this process is gone.
        with subprocess.Popen(["timeout", "-k", "5", str(timeout_s), *words],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            for raw in process.stdout:
                line = raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
                if "GUEST-READY" in line:
                    self.boot_s = time.monotonic() - start
                elif line.startswith(PART):
                    begun.append((descendants_cpu_s(process.pid), line.removeprefix(PART)))
                elif echo and self.boot_s and "GUEST-" not in line and "sysrq:" not in line:
                    print(line, file=echo, flush=True)
                lines.append(line)
        self.total_s = time.monotonic() - start
        after = os.times()
        self.cpu_s = after.children_user + after.children_system \
            - before.children_user - before.children_system
        ends = [cpu_s for cpu_s, _ in begun[1:]] + [self.cpu_s]
        self.parts = [(end - cpu_s, name) for (cpu_s, name), end in zip(begun, ends)]
        return lines, f"did not end within {timeout_s} s" if process.returncode == 124 else \
            f"ended early (qemu: {process.returncode})"

    def _status(self):
        for line in self.console.splitlines():
            if line.startswith("GUEST-DONE"):
                return int(line.split()[1])
        raise GuestFailed("the script did not end")


def descendants_cpu_s(pid):
    """Seconds of CPU of the processes below @pid, which has one child at most at each level."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            child = int(file.read())
        with open(f"/proc/{child}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, ValueError):
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") + descendants_cpu_s(child)


def command(kernel, initramfs, sent, memory_mb):
    # Without cx16 Linux up to 6.12 does not panic at random under qemu 7.2; Linux 7 needs it.
    cpu = "qemu64,-cx16" if kernel.version < (6, 13) else "qemu64"
    # A guest's clock counts its instructions, 8 ns each: what else runs on this machine changes how
    # long it takes, not what it sees. Such a guest has one CPU: a second one does not come up.
    return [QEMU, "-M", "q35", "-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off",
            "-cpu", cpu, "-smp", "1",
            "-m", str(memory_mb), "-nodefaults", "-display", "none", "-no-reboot",
            "-serial", "stdio", "-serial", "file:" + sent,
            "-kernel", kernel.image, "-initrd", initramfs, "-append",
            "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable no_timer_check"]


def base_archive():
    """What every guest has: a shell, a few tools, and the places of the mounts."""
    archive = Initramfs()
    for folder in ("/bin", "/sbin", "/proc", "/sys", "/dev", "/tmp", "/root", "/etc"):
        archive.folder(folder)
    for tool in TOOLS:
        archive.program(shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"))
    return archive
