"""mcap_reader: reads files of the MCAP format (mcap.dev/spec), for tests."""
import ctypes
import struct

MAGIC = b"\x89MCAP0\r\n"
FOOTER, CHANNEL, MESSAGE, CHUNK, DATA_END = 2, 4, 5, 6, 15


class Damaged(Exception):
    """The file is not whole."""


def unpack(data, count):
    """What zstd has packed, by the library that each Debian has."""
    out = ctypes.create_string_buffer(count or 1)
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    if library.ZSTD_decompress(out, count, data, len(data)) != count:
        raise Damaged("a chunk cannot be unpacked")
    return out.raw[:count]


def records(data):
    """(kind, content) of each record."""
    at = 0
    while at < len(data):
        kind, count = data[at], struct.unpack_from("<Q", data, at + 1)[0]
        yield kind, data[at + 9:at + 9 + count]
        at += 9 + count


def text(data, at):
    """The text at a place, and the place after it."""
    count = struct.unpack_from("<I", data, at)[0]
    return data[at + 4:at + 4 + count].decode(), at + 4 + count


def messages_of(given, channels):
    for kind, body in given:
        if kind == CHANNEL:
            channels[struct.unpack_from("<H", body)[0]] = text(body, 4)[0]
        elif kind == MESSAGE:
            channel, _, at = struct.unpack_from("<HIQ", body)
            yield channels[channel], at, body[22:]
        elif kind == CHUNK:
            count = struct.unpack_from("<Q", body, 16)[0]
            packing, at = text(body, 28)
            data = body[at + 8:]
            yield from messages_of(records(unpack(data, count) if packing else data), channels)


def messages(path):
    """(topic, time in ns, bytes) of each message of the file, in its order. The file must be whole."""
    with open(path, "rb") as file:
        data = file.read()
    if not (data.startswith(MAGIC) and data.endswith(MAGIC)):
        raise Damaged("the file is not whole")
    all_of_it = list(records(data[8:-8]))
    kinds = [kind for kind, _ in all_of_it]
    if kinds[-1:] != [FOOTER] or DATA_END not in kinds:
        raise Damaged(f"the file has no end: {kinds}")
    yield from messages_of(all_of_it, {})
