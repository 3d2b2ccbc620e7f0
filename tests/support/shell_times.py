# SPDX-License-Identifier: Apache-2.0
"""CPU time as `times` of a shell writes it: user and system of the shell itself, then of the children that it has waited for."""


def read_times(path):
    """Seconds of the shell, and of its children."""
    def seconds(text):
        minutes, rest = text.rstrip("s").split("m")
        return float(minutes) * 60 + float(rest)

    with open(path, encoding="ascii") as file:
        own, of_children = (sum(seconds(text) for text in line.split()) for line in file)
    return own, of_children
