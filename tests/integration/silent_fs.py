# SPDX-License-Identifier: Apache-2.0
"""A file system in user space that stops answering, in a mount namespace of the test's own.

Whoever asks it then waits in the kernel, SIGKILL or not, until its connection is aborted: that is
done at the end of each test, by the file system itself when this process has gone, and after
LIFE_S at the latest (fixtures/fuse/silent_fs.c). Nothing here may look at the command lines of processes
meanwhile: who reads one waits, too.
"""

import ctypes
import os
import subprocess
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER, PR_SET_DUMPABLE = 0x20000, 0x10000000, 4
MS_RDONLY, MS_BIND, MS_REC, MS_PRIVATE = 1, 1 << 12, 1 << 14, 1 << 18
LIFE_S = 90
CONNECTIONS = "/sys/fs/fuse/connections"


def check(code, what):
    if code:
        raise OSError(ctypes.get_errno(), what)


def enter_namespace():
    """From here on what is mounted is seen by this process and its children alone."""
    check(LIBC.unshare(CLONE_NEWNS), "unshare")
    check(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount private")
    LIBC.mount(b"none", CONNECTIONS.encode(), b"fusectl", 0, None)
    if not os.listdir("/sys/fs/fuse"):
        raise OSError("no FUSE in this kernel")


def mount_over(source, point):
    """What is at @source is at @point, too, in a mount namespace of this process alone."""
    check(LIBC.unshare(CLONE_NEWNS), "unshare")
    check(LIBC.mount(source.encode(), point.encode(), None, MS_BIND, None), "mount --bind")


def overlay_in_user_namespace(lower, point):
    """Whoever calls this needs no rights: from here on @point shows what the folders @lower have, the first above the
    second, in a user and a mount namespace of this process alone."""
    uid, gid = os.geteuid(), os.getegid()
    check(LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")  # else /proc/self is root's
    check(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "wb") as file:  # no codec: its module may be where only root reads
            file.write(text.encode())
    options = "userxattr,lowerdir=" + ":".join(lower)
    check(LIBC.mount(b"overlay", point.encode(), b"overlay", MS_RDONLY, options.encode()), "mount overlay")


def can_make_overlays():
    """May a user without rights do that here?"""
    with tempfile.TemporaryDirectory() as folder:
        lower = [os.path.join(folder, name) for name in ("upper", "lower")]
        point = os.path.join(folder, "point")
        os.chmod(folder, 0o755)
        for path in (*lower, point):
            os.mkdir(path)

        def try_it():
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            overlay_in_user_namespace(lower, point)

        try:
            return subprocess.run(["true"], preexec_fn=try_it, check=False).returncode == 0
        except subprocess.SubprocessError:
            return False


def device_of(point):
    """The minor number of what is mounted at @point: asks only the kernel's own list."""
    device = None
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split(" ")
            if fields[4] == point:
                device = int(fields[2].split(":")[1])
    return device


class SilentFs:
    """with SilentFs(server, work_folder) as fs: files in fs.source are seen below fs.point."""

    def __init__(self, server, folder, name, point=None):
        self.server = server
        self.source, self.point, self.control = (os.path.join(folder, name + end)
                                                 for end in (".files", ".point", ".control"))
        self.point = point or self.point
        self.device = self.process = None

    def __enter__(self):
        os.makedirs(self.source)
        os.makedirs(self.point, exist_ok=True)
        self.silence()
        self.process = subprocess.Popen(
            [self.server, self.point, self.source, self.control, str(LIFE_S)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            self.abort()
            raise OSError("the file system does not begin")
        self.device = device_of(self.point)
        return self

    def __exit__(self, *_):
        self.abort()

    def silence(self, *requests):
        """From now on these requests are not answered; others are."""
        with open(self.control + ".new", "w", encoding="ascii") as file:
            file.write(" ".join(requests))
        os.rename(self.control + ".new", self.control)

    def abort(self):
        """All who wait get an error; nothing is asked any more."""
        if self.device is not None:
            try:
                with open(f"{CONNECTIONS}/{self.device}/abort", "w", encoding="ascii") as file:
                    file.write("1")
            except OSError:
                pass  # it has gone by itself
        if self.process:
            self.process.stdin.close()
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            LIBC.umount2(self.point.encode(), 2)  # MNT_DETACH
        self.device = self.process = None
