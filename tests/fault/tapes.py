#!/usr/bin/env python3
"""What is in a recording, chunk by chunk (src/server/record.h).

usage: tapes.py same A B        whether both have the same chunks, but for those that name members of the run
       tapes.py members A       a line for each change of members: "lost 1220 secondary 2 (...)"
"""
import struct
import sys

HEAD_BYTES, CHUNK_BYTES, MEMBER = 24, 24, 9
CHANGES = ['came', 'left', 'lost']


def chunks(path):
    with open(path, 'rb') as file:
        tape = file.read()
    at = HEAD_BYTES
    while at + CHUNK_BYTES <= len(tape):
        kind, count, _ = struct.unpack_from('<3Q', tape, at)
        yield kind, tape[at + CHUNK_BYTES:at + CHUNK_BYTES + count]
        at += CHUNK_BYTES + count


def are_same(a, b):
    first, second = ([chunk for chunk in chunks(path) if chunk[0] != MEMBER] for path in (a, b))
    return first == second


def members(path):
    for kind, body in chunks(path):
        if kind == MEMBER:
            step, change, _, count = struct.unpack_from('<4Q', body)
            yield CHANGES[change], step, body[32:32 + count].decode()


if __name__ == '__main__':
    if sys.argv[1] == 'same':
        sys.exit(not are_same(*sys.argv[2:4]))
    for row in members(sys.argv[2]):
        print(*row)
