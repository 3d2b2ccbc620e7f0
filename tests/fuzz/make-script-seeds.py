#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the seeds of fuzz_script_names: make-script-seeds.py FOLDER. Files of code objects, whole and damaged, as
src/script/names.h has them; the records are those of bpf/shared_script.h."""

import os
import struct
import sys

CODE = 0x7F0000001000
PYTHON, PHP, JAVASCRIPT, LUA, RUBY, PERL = 1, 2, 3, 4, 5, 6
# of each version: the number, offsets of the first line and of the instructions, of a text's characters
V309, V310 = (0x030900F0, 40, 0, 48), (0x030A00F0, 40, 0, 48)
V311, V312, V313 = (0x030B02F0, 72, 184, 48), (0x030C01F0, 68, 192, 40), (0x030D00F0, 68, 200, 40)
ASCII, LATIN1, UCS2, UCS4 = 1 << 2 | 32 | 64, 1 << 2 | 32, 2 << 2 | 32, 4 << 2 | 32


def text(version, characters, state=ASCII, size=None):
    begin = version[3] if state & 64 else version[3] + (24 if version[3] == 48 else 16)
    head = struct.pack("<16xQ8xI", len(characters) if size is None else size, state)
    encoded = characters.encode({LATIN1: "latin-1", UCS2: "utf-16-le", UCS4: "utf-32-le"}.get(state, "ascii"))
    return (head.ljust(begin, b"\0") + encoded)[:256].ljust(256, b"\0")


def code(version, function, file="/a/b.py", lines=bytes((0x80 | 13 << 3, 0, 0x80 | 12 << 3, 0)), places=(0, 2), read=256,
         nr_lines=None, more=0, record_size=None):
    number, first_line, start, _ = version
    content = struct.pack("<16xQ8x", len(lines) if nr_lines is None else nr_lines) + lines
    content = content.ljust((len(content) + 7) // 8 * 8, b"\0")
    name = function if isinstance(function, bytes) else text(version, function)
    record = struct.pack("<16xQQIIII3HH", 1, CODE, 7, 0, 1, 32 + len(lines) + more, read, 256, 256, 0)
    record += (b"\0" * first_line + struct.pack("<I", 10)).ljust(256, b"\0") + name + text(version, file) + content
    return head(PYTHON, number, record, places, record_size) + b"".join(
        struct.pack("<I", start + place & 0xFFFFFFFF) for place in places)


def head(language, number, record, places, record_size=None):
    size = len(record) if record_size is None else record_size
    return struct.pack("<QIIII", number, language, size, len(places), 0) + record


def php_text(characters, size=None):
    return struct.pack("<16xQ", len(characters) if size is None else size) + characters


def php(name, class_name=b"", file=b"/a/b.php", kind=2, version=20220829, size=None):
    """A function of PHP: its type, name, class, file and first line."""
    fields = struct.pack("<B7xQQ", kind, 1 if name else 0, 1 if class_name else 0).ljust(160, b"\0") + struct.pack("<I", 7)
    last = php_text(class_name).ljust(64, b"\0")
    record = struct.pack("<16xQQIIII3HH", 2, CODE, 7, 0, 1, len(last), 256, 256, 256, 0) + fields.ljust(256, b"\0")
    record += php_text(name, size).ljust(256, b"\0") + php_text(file).ljust(256, b"\0") + last
    return head(PHP, version, record, (9, 0xFFFFFFFF)) + struct.pack("<II", 9, 0xFFFFFFFF)


def javascript(name, wide=0, file=b"/a/b.js", line=7, read=8, size=None):
    """A function of V8: characters of its name and of its file."""
    record = struct.pack("<16xQQIIII3HH", 2, CODE, 7, line, 1, 0, read, len(name) if size is None else size, len(file), wide)
    record += b"\0" * 256 + name.ljust(256, b"\0") + file.ljust(256, b"\0")
    return head(JAVASCRIPT, 1, record, (0xFFFFFFFF,)) + struct.pack("<I", 0xFFFFFFFF)


def lua(source=b"@/a/b.lua", first_line=7, lines=b"\0\1\x80\2", marks=((2, 20),), version=50404, nr_lines=None, read=256,
        places=(0, 4, 8, 12, 16, -4)):
    """A function of Lua: its file, its first line, how lines change, and marks of instructions with their lines."""
    nr_lines = len(lines) if nr_lines is None else nr_lines
    fields = struct.pack("<24xII8xII16xQ", len(lines), nr_lines, len(marks), first_line, CODE)
    record = struct.pack("<16xQQIIII3HH", 2, CODE, 7, 0, 1, len(lines), read, 8 * len(marks), 256, 0) + fields.ljust(256, b"\0")
    record += b"".join(struct.pack("<II", *mark) for mark in marks)[:256].ljust(256, b"\0")
    record += (b"\0" * 24 + source)[:256].ljust(256, b"\0") + lines.ljust((len(lines) + 7) // 8 * 8, b"\0")
    return head(LUA, version, record, places) + b"".join(struct.pack("<I", CODE + place & 0xFFFFFFFF) for place in places)


def ruby_text(characters, elsewhere=False, size=None):
    """A string of 3.3: its characters, or no more than how many there are."""
    size = len(characters) if size is None else size
    return struct.pack("<Q8xQ", 5 | 0x2000 * elsewhere, size) + (b"" if elsewhere else characters)


def ruby(label=b"f", path=b"a.rb", nr_lines=3, elsewhere=False, paths=None, index=b"\x83\x81" * 24 + b"\3" + b"\xff" * 79, version=30308,
         size=None, more=6 * 256):
    """Code of Ruby: its label and path, its lines, and the index from instructions to them."""
    fields = struct.pack("<4xIQ", 400, CODE).ljust(88, b"\0") + struct.pack("<I", 7)
    fields = fields.ljust(128, b"\0") + struct.pack("<I", nr_lines)
    texts = [ruby_text(label, elsewhere, size), label, ruby_text(path, elsewhere) if paths is None else paths, ruby_text(path), path, path,
             index, index[256:]]
    texts = b"".join(text[:256].ljust(256, b"\0") for text in texts)
    lines = b"".join(struct.pack("<III", line, 0, 0) for line in (10, 20, 30, 40))
    record = struct.pack("<16xQQIIII3HH", 2, CODE, 7, 0, 1, more + len(lines), 256, 256, 256, 0) + fields.ljust(256, b"\0")
    record += texts + lines
    places = (0, 8, 8 * 30, 8 * 60, 8 * 1200, -8)
    return head(RUBY, version, record, places) + b"".join(struct.pack("<I", CODE + place & 0xFFFFFFFF) for place in places)


def perl_name(characters, size=None):
    return struct.pack("<II", 7, len(characters) if size is None else size) + characters


def perl(name=b"f", package=b"A::B", file=b"/a/b.pm", flags=0, is_place=0, version=53600, size=3768, more=6 * 256, read=256, length=None):
    """A sub of Perl, or with is_place a statement: its name, package and file."""
    fields = b"\0" * 92 + struct.pack("<I", flags)
    texts = [perl_name(name, length), b"", perl_name(name, length), perl_name(package), perl_name(package), file, file, b""]
    texts = b"".join(text[:256].ljust(256, b"\0") for text in texts)
    record = struct.pack("<16xQQIIII3HH", 2, CODE | is_place, 7, 0, 1, more, read, 256, 256, 0) + fields.ljust(256, b"\0") + texts
    return head(PERL, size << 32 | version, record, (9, 0xFFFFFFFF)) + struct.pack("<II", 9, 0xFFFFFFFF)


TWO = code(V311, "f") + code(V312, "C.g.<locals>.h") + code(V313, "<module>", places=())

SEEDS = {
    "whole": TWO,
    "cut": TWO[:-5],
    "latin1": code(V311, text(V311, "gr\xfc\xdfe", LATIN1)),
    "ucs2": code(V312, text(V312, "\u03bb", UCS2)),
    "ucs4": code(V313, text(V313, "\U0001f40d", UCS4)),
    "text_too_long": code(V311, text(V311, "f", size=1 << 62)),
    "control": code(V311, text(V311, "a;b\n\x1b[31m<b>")),
    "unknown_version": code((0x031000F0,) + V313[1:], "f"),
    "object_not_read": code(V311, "f", read=16),
    "more_lines_than_read": code(V311, "f", nr_lines=1 << 40, more=4096),
    "lines_of_each_kind": code(V312, "f", lines=bytes([0x80 | kind << 3 for kind in range(16)] + [0x7F] * 24),
                               places=range(0, 64, 2)),
    "line_without_end": code(V311, "f", lines=bytes([0x80 | 13 << 3] + [0x7F] * 30)),
    "record_short": code(V311, "f", record_size=64),
    "record_odd": code(V311, "f", record_size=1001),
    "places_elsewhere": code(V311, "f", places=(1 << 31, -184, -1)),
    "lnotab": code(V309, "f", lines=bytes((4, 1, 6, 200, 255, 128)), places=(0, 5, 300, -1)),
    "linetable": code(V310, "f", lines=bytes((4, 1, 6, 128, 255)), places=(0, 5, 300, -1)),
    "unknown_language": head(99, 1, code(V311, "f")[24:-8], ()),
    "php": php(b"f") + php(b"g", b"A\\B") + php(b"") + php(b"", kind=4),
    "php_anonymous": php(b"g", b"class@anonymous\0/a/b.php:7$0"),
    "php_text_too_long": php(b"f", size=1 << 62),
    "php_internal": php(b"f", kind=1),
    "php_unknown_version": php(b"f", version=20990101),
    "lua": lua() + lua(b"=made", 0) + lua(b"return 1") + lua(b"x\ny") + lua(b"y" * 232),
    "lua_lines_lie": lua(nr_lines=1 << 31) + lua(lines=b"\x7f" * 64, first_line=0x7FFFFFFF) + lua(first_line=1 << 31),
    "lua_marks_lie": lua(marks=[(1 << 31, 5)] * 40) + lua(marks=((3, 9), (1, 8))),
    "lua_not_read": lua(read=64) + lua(version=50309),
    "ruby": ruby() + ruby(elsewhere=True) + ruby(paths=struct.pack("<Q", 7 | 0x2000)) + ruby(version=30102),
    "ruby_sizes_lie": ruby(size=1 << 62) + ruby(nr_lines=1 << 31) + ruby(more=64) + ruby(nr_lines=1),
    "ruby_index_lies": ruby(index=b"\xff" * 512) + ruby(index=b""),
    "ruby_unknown": ruby(version=20704) + ruby(paths=struct.pack("<Q", 7)),
    "perl": perl() + perl(flags=0x8000) + perl(flags=0x18000) + perl(is_place=1) + perl(is_place=3) + perl(is_place=1, file=b"(eval 17)"),
    "perl_sizes_lie": perl(length=1 << 31) + perl(length=247) + perl(length=248) + perl(b"f" * 247) + perl(file=b"x" * 256, is_place=1),
    "perl_not_read": perl(more=0) + perl(read=64) + perl(is_place=1, file=b"") + perl(b""),
    "perl_unknown": perl(version=53201) + perl(size=0),
    "javascript": javascript(b"fib") + javascript(b"", file=b"file:///a/b.mjs") + javascript(b"gr\xfc\xdfe"),
    "javascript_wide": javascript("\U0001f600x".encode("utf-16-le"), wide=1) + javascript(b"\x3d\xd8", wide=1),
    "javascript_longest": javascript(b"\x21\x4e" * 128, wide=1) + javascript(b"\xfc" * 256),
    "javascript_size_lies": javascript(b"f", size=65535) + javascript(b"f", line=0xFFFFFFFF) + javascript(b"f", read=0),
}


def main():
    for name, content in SEEDS.items():
        with open(os.path.join(sys.argv[1], name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    main()
