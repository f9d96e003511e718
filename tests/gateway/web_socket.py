"""The client's side of a WebSocket (RFC 6455), for the clients of gateways here and in tests/conform. Only Python's own
modules."""
import base64
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def split_frame(have):
    """The first frame of the bytes, and what follows it: (kind, body, rest); None: it is not all there."""
    if len(have) < 2:
        return None
    count, at = have[1] & 127, 2
    if count > 125:
        at += 2 if count == 126 else 8
        if len(have) < at:
            return None
        count = struct.unpack(">H" if at == 4 else ">Q", have[2:at])[0]
    if len(have) < at + count:
        return None
    return have[0] & 15, have[at:at + count], have[at + count:]


class WebSocket:
    """A connection to a port of this machine; protocol: the subprotocol that it asks for."""

    def __init__(self, port, protocol="", timeout_s=60):
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=timeout_s)
        key = base64.b64encode(os.urandom(16)).decode()
        more = "Sec-WebSocket-Protocol: %s\r\n" % protocol if protocol else ""
        self.socket.sendall((
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n%s\r\n" % (int(port), key, more)).encode())
        self.bytes = b""  # that are not taken yet
        while b"\r\n\r\n" not in self.bytes:
            self.fill()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise SystemExit("refused: %r" % head)

    def fill(self):
        more = self.socket.recv(1 << 16)
        if not more:
            raise EOFError
        self.bytes += more

    def take_frame(self):
        """(kind, body). EOFError: the connection was closed without a word."""
        frame = split_frame(self.bytes)
        while not frame:
            self.fill()
            frame = split_frame(self.bytes)
        kind, body, self.bytes = frame
        return kind, body

    def send_frame(self, kind, body):
        head = bytes([0x80 | kind])
        if len(body) < 126:
            head += bytes([0x80 | len(body)])
        elif len(body) < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(body))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(body))
        self.socket.sendall(head + bytes(4) + body)  # a mask of zeros masks nothing


def close_reason(body):
    """Of a frame that closes: "1000 the run has ended"."""
    return "%d %s" % (struct.unpack(">H", body[:2])[0], body[2:].decode())
