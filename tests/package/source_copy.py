# SPDX-License-Identifier: Apache-2.0
"""Copies of the source tree as a release would have it, and packages built in them.

Git is not asked: a clone may be shallow, or somebody else's."""

import os
import shutil
import subprocess

LEFT_OUT = {".git", "build", "__pycache__", ".debhelper"}
BUILD_TIMEOUT_S = 3000


def copy(source, folder):
    """The tree without what builds leave in it: folders of cmake, files of debhelper."""
    def ignore(path, names):
        ignored = {name for name in names if name in LEFT_OUT or
                   os.path.exists(os.path.join(path, name, "CMakeCache.txt"))}
        if os.path.basename(path) == "debian" and os.path.dirname(path) == source:
            ignored |= {"fpless", "files", "debhelper-build-stamp", "fpless.substvars"}
        return ignored

    shutil.copytree(source, folder, symlinks=True, ignore=ignore)


def compiler_cache(tree):
    """The variables of a build of @tree with the caller's ccache; none where the caller keeps no objects (tools/test.sh does)."""
    if os.environ.get("CMAKE_C_COMPILER_LAUNCHER") != "ccache" or "CCACHE_DIR" not in os.environ:
        return {}
    kept = {name: value for name, value in os.environ.items() if name.startswith("CCACHE_")}
    return kept | {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": tree}


def environment(home, **more):
    """Of a build: nothing of the caller's, no cache of compilers but in @more."""
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home,
           "LC_ALL": "C.UTF-8"}
    if "CCACHE_DIR" not in more:
        env["CCACHE_DISABLE"] = "1"
    env.update(more)
    return env


def run(command, log, **more):
    """Run a part of a build; what it says goes into a file, whose end is the error."""
    with open(log, "ab") as file:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file,
                              stderr=subprocess.STDOUT, timeout=BUILD_TIMEOUT_S, check=False, **more)
    if done.returncode:
        with open(log, encoding="utf-8", errors="replace") as file:
            said = file.read()
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{said[-6000:]}")


def packages(folder):
    """{name of a .deb: its path} beside a tree that was built."""
    return {name: os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".deb")}


def has_html(folder):
    """Did the build beside it get from npm what the HTML report is drawn with?"""
    with open(os.path.join(folder, "log"), "rb") as file:
        return b"/html_page.h" in file.read()


def build(tree, jobs, prefix=(), **more):
    """Both ways: dpkg-buildpackage beside the tree, then cpack of the same objects into cpack/."""
    beside = os.path.dirname(tree)
    log = os.path.join(beside, "log")
    env = environment(beside, **more)
    run([*prefix, "dpkg-buildpackage", "-b", "-us", "-uc", f"-j{jobs}"], log, cwd=tree, env=env)
    objects = os.path.join(tree, "build", "package")
    out = os.path.join(beside, "cpack")
    run([*prefix, "cpack", "-B", out], log, cwd=objects, env=env)
    return packages(beside), packages(out)
