# SPDX-License-Identifier: Apache-2.0
"""Programs of the distribution whose hottest code is assembly without CFI. Each is one process that runs for longer
than a measurement; inputs are made on the spot."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
from texts import DGEMM, GP, LINALG  # noqa: E402

SEMIPRIME = str((10**32 + 49) * (10**33 + 61))  # both prime: rho needs some 10^16 steps, each a product in libgmp

# a moving picture with noise, so that there is something to look for and something to code
SOURCE = "testsrc2=size=640x360:rate=25:duration=10,noise=alls=12:allf=t"
QUIET = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"]


class Missing(Exception):
    """What a workload needs is not installed."""


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing("no " + program)


def need_numpy():
    need("/usr/bin/python3")
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Missing("no numpy")


class Inputs:
    """Files made once in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def make(self, name, *words):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            part = os.path.join(self.folder, "part-" + name)
            made = subprocess.run([*words, part], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if made.returncode:
                raise Missing("%s could not be made: %s" % (name, (made.stderr.splitlines() or ["?"])[-1]))
            os.rename(part, path)
        return path

    def raw(self):
        need("ffmpeg")
        return self.make("raw.y4m", *QUIET, "-f", "lavfi", "-i", SOURCE, "-pix_fmt", "yuv420p")

    def h264(self):
        return self.make("h264.mkv", *QUIET, "-i", self.raw(), "-c:v", "libx264", "-preset", "medium")

    def av1(self):
        """Ten seconds, repeated: dav1d plays a file once."""
        once = self.make("av1.ivf", *QUIET, "-i", self.raw(), "-c:v", "libsvtav1", "-preset", "9", "-crf", "35")
        return self.make("av1-long.ivf", *QUIET, "-stream_loop", "400", "-i", once, "-c", "copy")

    def text(self):
        path = os.path.join(self.folder, "text")
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                for i in range(400000):
                    file.write("%d %x %s\n" % (i, i * 2654435761 % 2**32, "word" * (i % 7)))
        return path


def encode(inputs, codec, *more):
    return [*QUIET, "-stream_loop", "-1", "-i", inputs.raw(), "-c:v", codec, *more, "-f", "null", "-"]


def decode(path, codec):
    return [*QUIET, "-stream_loop", "-1", "-c:v", codec, "-i", path, "-f", "null", "-"]


def numpy_loop(program, threads):
    need_numpy()
    return ["env", "OPENBLAS_NUM_THREADS=%d" % threads, "/usr/bin/python3", "-c", program]


def program(name, *words):
    need(name)
    return [name, *words]


def gp(inputs):
    need("gp")
    path = os.path.join(inputs.folder, "factor.gp")
    with open(path, "w", encoding="ascii") as file:
        file.write(GP)
    return ["gp", "-q", "-f", path]


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(command, warm_up_s):
    """The process, once it has worked for so long."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        while process.poll() is None and cpu_seconds(process.pid) < warm_up_s:
            time.sleep(0.05)
        if process.poll() is not None:
            raise Missing("%s ended with status %d" % (command[0], process.returncode))
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# (name, at least so many per cent complete, function of Inputs to the words of the command)
WORKLOADS = [
    ("numpy dgemm, 1 thread", 99, lambda inputs: numpy_loop(DGEMM, 1)),
    ("numpy dgemm, 2 threads", 99, lambda inputs: numpy_loop(DGEMM, 2)),
    ("numpy linalg", 99, lambda inputs: numpy_loop(LINALG, 1)),
    ("ffmpeg libx264", 99, lambda inputs: encode(inputs, "libx264", "-preset", "medium")),
    ("ffmpeg libx265", 99, lambda inputs: encode(inputs, "libx265", "-preset", "medium", "-x265-params", "log-level=error")),
    ("ffmpeg h264 decoder", 99, lambda inputs: decode(inputs.h264(), "h264")),
    ("ffmpeg libdav1d", 95, lambda inputs: decode(inputs.av1(), "libdav1d")),
    ("dav1d", 95, lambda inputs: program("dav1d", "-q", "-i", inputs.av1(), "--muxer", "null", "-o", "-")),
    ("gp factor", 99, gp),
    ("factor", 99, lambda inputs: program("factor", SEMIPRIME)),
    ("zstd -b3", 99, lambda inputs: program("zstd", "-q", "-b3", "-i600", inputs.text())),
]
PACKAGES = ["python3-numpy", "libopenblas0-pthread", "ffmpeg", "libavcodec59", "libx264-164", "libx265-199", "libdav1d6",
            "libgmp10", "pari-gp", "coreutils", "zstd"]
