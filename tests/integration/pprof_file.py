# SPDX-License-Identifier: Apache-2.0
"""Profiles in the wire format of google/pprof, taken apart and put together field by field."""

import gzip

SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING, COMMENT = 1, 2, 3, 4, 5, 6, 13


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One field: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(number, *fields):
    return field(number, b"".join(field(*pair) for pair in fields))


def fields(data):
    """(number, number or bytes) of each field."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        elif tag & 7 == 2:
            size = number()
            at += size
            yield tag >> 3, data[at - size:at]
        else:
            raise ValueError(f"a field of kind {tag & 7}")


def numbers(value):
    """A repeated number: packed, or one alone."""
    if isinstance(value, int):
        return [value]
    return [number for _, number in fields(b"".join(b"\x08" + byte for byte in _split(value)))]


def _split(packed):
    start = 0
    for at, byte in enumerate(packed):
        if byte < 0x80:
            yield packed[start:at + 1]
            start = at + 1


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def without_names(data):
    """The same profile, of which no location has a function."""
    return b"".join(message(number, *(pair for pair in fields(value) if pair[0] != 4))
                    if number == LOCATION else field(number, value)
                    for number, value in fields(data) if number != FUNCTION)


def sums(data):
    """{name of a sample type: sum of its values}, and the name of the default."""
    texts = [value.decode() for number, value in fields(data) if number == STRING]
    types = [texts[dict(fields(value)).get(1, 0)] for number, value in fields(data) if number == SAMPLE_TYPE]
    preferred = [texts[value] for number, value in fields(data) if number == 14 and value]
    totals = [0] * len(types)
    for number, value in fields(data):
        if number == SAMPLE:
            values = [one for part, packed in fields(value) if part == 2 for one in numbers(packed)]
            totals = [total + one for total, one in zip(totals, values)]
    return dict(zip(types, totals)), (preferred or types[-1:])[0]


def of_code(path, build_id, start, offset, addresses):
    """A sample of one frame for each address, all in one mapping of a file; no names."""
    texts = ["", "samples", "count", path, build_id]
    return b"".join([
        message(SAMPLE_TYPE, (1, 1), (2, 2)),
        *(message(SAMPLE, (1, varint(i + 1)), (2, varint(1))) for i in range(len(addresses))),
        message(MAPPING, (1, 1), (2, start), (3, start + (1 << 32)), (4, offset), (5, 3), (6, 4)),
        *(message(LOCATION, (1, i + 1), (2, 1), (3, address)) for i, address in enumerate(addresses)),
        *(field(STRING, text.encode()) for text in texts),
    ])
