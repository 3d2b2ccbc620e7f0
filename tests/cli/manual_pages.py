# SPDX-License-Identifier: Apache-2.0
"""What a page of the manual and what --help say, as the same things."""

import re
import subprocess


def run(*command, **more):
    """The stdout of a command that has to succeed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
                          **more)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def options(lines, indent):
    """{(letter, name, value)} of the lines that begin with an option, at most so far in."""
    found = set()
    for line in lines:
        match = re.match(rf"^ {{1,{indent}}}(-\S.*)$", line)
        if not match:
            continue
        head = re.split(r"  +", match[1])[0]
        letter = re.match(r"-([^-\s])", head)
        name = re.search(r"--([a-z0-9-]+)", head)
        value = re.search(r"(\[?)=(.*)$|^-\S ([^-].*)$", head)
        text = (value[2] or value[3]) if value else ""
        if value and value[1]:  # --name[=VALUE]
            text = "[" + text
        found.add((letter[1] if letter else "", name[1] if name else "", text))
    return found


def of_help(text):
    """Options as --help lists them: argp indents them by two or six."""
    return options(text.splitlines(), 6)


def of_page(path):
    """Options in the section OPTIONS of a page."""
    text = re.sub(r".\x08", "", run("mandoc", "-Tascii", "-Owidth=200", path))
    section = re.search(r"^OPTIONS$(.*?)(?=^\S)", text, re.M | re.S)
    return options(section[1].splitlines(), 7) if section else set()
