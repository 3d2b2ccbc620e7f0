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


def lines_of_page(path):
    """The section OPTIONS of a page."""
    text = re.sub(r".\x08", "", run("mandoc", "-Tascii", "-Owidth=200", path))
    section = re.search(r"^OPTIONS$(.*?)(?=^\S)", text, re.M | re.S)
    return section[1].splitlines() if section else []


def of_page(path):
    """Options in the section OPTIONS of a page."""
    return options(lines_of_page(path), 7)


def headings(lines, heading, option):
    """[(heading, options below it)], both found by patterns."""
    found = []
    for line in lines:
        match = re.match(heading, line)
        if match:
            found.append((match[1], 0))
        elif found and re.match(option, line):
            found[-1] = (found[-1][0], found[-1][1] + 1)
    return found


def headings_of_help(text):
    """Of --help: indented by one."""
    return headings(text.splitlines(), r"^ (\S.*):$", r"^ {2,6}-")


def headings_of_page(path):
    """Of the section OPTIONS of a page: indented by three."""
    return headings(lines_of_page(path), r"^ {3}(\S.*)$", r"^ {7}-")
