# SPDX-License-Identifier: Apache-2.0
"""Files that the programs of the table work on, made once in a folder. Inside of the root it is /work."""

import os
import random
import shutil
import subprocess

import texts

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")
VIDEO = "testsrc2=size=640x360:rate=25:duration=10,noise=alls=12:allf=t"
QUIET = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"]
MAKE_TIMEOUT_S = 300


class Missing(Exception):
    """An input could not be made; why."""


class Inputs:
    def __init__(self, machine):
        self.machine, self.folder = machine, machine.folder

    def text(self, name, make):
        """The path, inside, of a file whose contents @make gives."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            data = make() if callable(make) else make
            with open(path + ".part", "wb") as file:
                file.write(data if isinstance(data, bytes) else data.encode())
            os.rename(path + ".part", path)
        return "/work/" + name

    def source(self, name):
        shutil.copy(os.path.join(SOURCES, name), self.folder)
        return "/work/" + name

    def run(self, words, env=None):
        """A command in the root, in /work."""
        command, env = self.machine.inside(["sh", "-c", 'cd /work && exec "$@"', "sh", *words], env)
        self._run(command, env)

    def _run(self, command, env):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", env={**os.environ, **env}, timeout=MAKE_TIMEOUT_S, check=False)
        except (subprocess.TimeoutExpired, FileNotFoundError) as error:
            raise Missing(str(error)) from None
        if done.returncode:
            raise Missing("%s: %s" % (command[-1], (done.stdout.strip().splitlines() or ["?"])[-1][:160]))

    def made(self, name, *words, env=None):
        """The path, inside, of a file that a command makes: its last word is where."""
        if not os.path.exists(os.path.join(self.folder, name)):
            self.run([*words, "part-" + name], env)
            os.rename(os.path.join(self.folder, "part-" + name), os.path.join(self.folder, name))
        return "/work/" + name

    def built(self, name, *words):
        """The path, inside, of a program that the machine's own compiler makes of a source of ours."""
        path = os.path.join(self.folder, os.path.splitext(name)[0])
        self._run(["gcc", "-O1", "-o", path, os.path.join(SOURCES, name), *words], {})
        return "/work/" + os.path.basename(path)

    def compiled(self, name, *words, env=None):
        """A source of ours compiled by a command in the root."""
        self.source(name)
        self.run(list(words), env)

    def raw(self):
        return self.made("raw.y4m", *QUIET, "-f", "lavfi", "-i", VIDEO, "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe")

    def h264(self):
        return self.made("h264.mkv", *QUIET, "-i", self.raw(), "-c:v", "libx264", "-preset", "medium", "-f", "matroska")

    def av1(self):
        """Ten seconds, repeated: dav1d plays a file once."""
        once = self.made("av1.ivf", *QUIET, "-i", self.raw(), "-c:v", "libsvtav1", "-preset", "9", "-crf", "35", "-f", "ivf")
        return self.made("av1-long.ivf", *QUIET, "-stream_loop", "400", "-i", once, "-c", "copy", "-f", "ivf")

    def repository(self):
        path = os.path.join(self.folder, "repo")
        if not os.path.exists(path):
            texts.make_repository(path, random.Random(7), texts.vocabulary())
        return "/work/repo"

    def debug_file(self):
        """The largest separate debug file of the root."""
        best, most = "", 0
        for folder, _, names in os.walk(os.path.join(self.machine.root.path, "usr/lib/debug/.build-id")):
            for name in names:
                size = os.path.getsize(os.path.join(folder, name))
                best, most = (os.path.join(folder, name), size) if size > most else (best, most)
        if not best:
            raise Missing("no debug file")
        return "/" + os.path.relpath(best, self.machine.root.path)
