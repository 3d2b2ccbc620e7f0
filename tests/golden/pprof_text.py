#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pprof as text, field by field as it stands in the file, by the schema's own words.

usage: pprof_text.py SCHEMA <FILE.pb.gz

A field whose comment in SCHEMA begins with "text" is an index into the string table: the text stands behind it.
"""

import re
import sys
import zlib


def read_schema(path):
    """{message: {number: (name, type, is_text)}}."""
    messages, fields = {}, None
    with open(path, encoding="ascii") as file:
        for line in file:
            if begin := re.match(r"message (\w+)", line):
                fields = messages[begin[1]] = {}
            elif field := re.match(r"\s+(?:repeated )?(\w+) (\w+) = (\d+);(?: // (texts?\b)?)?", line):
                fields[int(field[3])] = (field[2], field[1], field[4] is not None)
    return messages


def unpack_members(data):
    """The content of the gzip members, one after the other."""
    content, nr = b"", 0
    while data:
        member = zlib.decompressobj(wbits=31)
        content += member.decompress(data)
        if not member.eof:
            sys.exit("pprof_text.py: member %d is cut" % nr)
        data, nr = member.unused_data, nr + 1
    return content, nr


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields_of(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            sys.exit("pprof_text.py: wire type %d at byte %d" % (tag & 7, at))
        yield tag >> 3, value


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def number(value, kind):
    if kind == "sint64":
        return value >> 1 ^ -(value & 1)
    return value - (1 << 64) if kind == "int64" and value >> 63 else value


def show(schema, strings, message, data, depth):
    indent = "  " * depth
    for nr, value in fields_of(data):
        name, kind, is_text = schema[message].get(nr, ("field %d" % nr, "?", False))
        if kind in schema:
            print("%s%s {" % (indent, name))
            show(schema, strings, kind, value, depth + 1)
            print(indent + "}")
        elif kind in ("string", "bytes"):
            print("%s%s: %r" % (indent, name, value))
        else:
            values = list(packed(value)) if isinstance(value, bytes) else [value]
            texts = " ".join(repr(strings[v]) for v in values) if is_text else ""
            print("%s%s: %s%s" % (indent, name, " ".join(str(number(v, kind)) for v in values),
                                  " " + texts if texts else ""))


def main():
    schema = read_schema(sys.argv[1])
    content, nr = unpack_members(sys.stdin.buffer.read())
    table = next(nr for nr, field in schema["Profile"].items() if field[0] == "string_table")
    strings = [value.decode("utf-8", "backslashreplace") for nr, value in fields_of(content) if nr == table]
    print("gzip members: %d" % nr)
    show(schema, strings, "Profile", content, 0)


if __name__ == "__main__":
    main()
