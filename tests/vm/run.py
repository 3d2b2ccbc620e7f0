#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command in a kernel of Debian under qemu: does that kernel still load the programs?

In the guest `fpless` is the built one, $FIXTURES the folder of the programs with known stacks, and
what the command leaves in /out is brought back."""

import argparse
import os
import shlex
import shutil
import sys
import tempfile

import guest
import kernel_image

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))


def arguments():
    parser = argparse.ArgumentParser(prog="tools/vm.sh", description=__doc__)
    parser.add_argument("-k", "--kernel", default="6.1", metavar="SERIES",
                        help=f"{', '.join(kernel_image.SUITES)} (default: 6.1)")
    parser.add_argument("-b", "--build", default=os.path.join(TOP, "build/release"), metavar="DIR",
                        help="where fpless and the fixtures were built (build/release)")
    parser.add_argument("-w", "--with", action="append", default=[], dest="files", metavar="PATH",
                        help="a program, file or folder that the guest needs too; repeatable")
    parser.add_argument("-o", "--out", metavar="DIR", help="for what the command leaves in /out")
    parser.add_argument("-t", "--timeout", type=int, default=300, metavar="SECONDS")
    parser.add_argument("--refresh", action="store_true", help="ask the archive for a newer image")
    parser.add_argument("command", nargs=argparse.REMAINDER,
                        help="words of one command, or one word for the shell")
    args = parser.parse_args()
    if args.command[:1] == ["--"]:
        args.command.pop(0)
    if not args.command:
        parser.error("no command given")
    return args


def archive_of(args):
    build = os.path.realpath(args.build)
    archive = guest.base_archive()
    archive.program(os.path.join(build, "fpless"))
    archive.tree(os.path.join(build, "fixtures"))
    for path in args.files:
        path = os.path.abspath(shutil.which(path) or path)
        if os.path.isdir(path):
            archive.tree(path)
        else:
            archive.program(path)
    return archive, build


def main():
    args = arguments()
    try:
        kernel = kernel_image.get(args.kernel, args.refresh)
        archive, build = archive_of(args)
        words = args.command[0] if len(args.command) == 1 else shlex.join(args.command)
        script = f"PATH={shlex.quote(build)}:$PATH FIXTURES={shlex.quote(build)}/fixtures\n" \
                 f"export PATH FIXTURES\ncd /tmp\n{words}\n"
        folder = args.out or tempfile.mkdtemp(prefix="fpless-vm-out-")
        done = guest.Guest(kernel, archive, script, folder, timeout_s=args.timeout,
                           echo=sys.stdout)
    except (kernel_image.CannotFetch, guest.GuestFailed, OSError) as error:
        print(f"vm.sh: {error}", file=sys.stderr)
        return 125
    if not args.out:
        shutil.rmtree(folder)
    print(f"vm.sh: Linux {kernel}: status {done.status}; {done}", file=sys.stderr)
    return done.status


if __name__ == "__main__":
    sys.exit(main())
