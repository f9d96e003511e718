#!/usr/bin/env python3
"""A client of rosbridge, and of other gateways that send JSON through a WebSocket. Only Python's own modules.

usage: rosbridge_client.py end PORT [PROTOCOL [NAME [FILE]]]

It prints the reason with which the server closes the connection, and before it all operations with a status. With a
NAME it is a barrier client, joins, waits until FILE is there, and answers each step; the reply that ends this is
printed, too.
"""
import base64
import json
import os
import socket
import struct
import sys
import time


class Client:
    """A connection; protocol: the subprotocol that it asks for."""

    def __init__(self, port, protocol=""):
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=60)
        self.reason = None
        key = base64.b64encode(os.urandom(16)).decode()
        more = "Sec-WebSocket-Protocol: %s\r\n" % protocol if protocol else ""
        self.socket.sendall((
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n%s\r\n" % (int(port), key, more)).encode())
        self.bytes = b""
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

    def part(self, count):
        while len(self.bytes) < count:
            self.fill()
        part, self.bytes = self.bytes[:count], self.bytes[count:]
        return part

    def send(self, value):
        body = json.dumps(value).encode()
        size = bytes([0x80 | len(body)]) if len(body) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(body))
        self.socket.sendall(b"\x81" + size + bytes(4) + body)  # a mask of zeros masks nothing

    def take(self):
        """The next operation; None: the connection has ended, and self.reason says why."""
        try:
            while True:
                first, second = self.part(2)
                count = second & 127
                if count > 125:
                    count = struct.unpack(*((">H", self.part(2)) if count == 126 else (">Q", self.part(8))))[0]
                body = self.part(count)
                if first & 15 == 8:
                    self.reason = "%d %s" % (struct.unpack(">H", body[:2])[0], body[2:].decode())
                    return None
                if first & 15 == 1:
                    return json.loads(body)
        except (EOFError, ConnectionError):
            return None

    def call(self, service, args):
        """The values of the reply; operations with a status that come before it are printed."""
        self.send({"op": "call_service", "id": 1, "service": service, "args": args})
        operation = self.take()
        while operation and operation["op"] != "service_response":
            self.tell(operation)
            operation = self.take()
        return operation and operation["values"]

    @staticmethod
    def tell(operation):
        if operation["op"] == "status":
            print("status", operation["level"], operation.get("msg", operation.get("message")))
        elif operation["op"] == "bye":
            print("bye", operation["text"])


def end(port, protocol="", name=None, file=None):
    client = Client(port, protocol)
    done = {}
    if name:
        client.call("/lockstep/join", {"version": 1, "name": name, "deadline_ns": str(100 * 10**9)})
    print("connected", flush=True)
    while file and not os.path.exists(file):
        time.sleep(0.05)
    while name:
        values = client.call("/lockstep/step", {"name": name, **done})
        if not values or "step" not in values:
            print("step", json.dumps(values, sort_keys=True))
            break
        done = {"done": {"step": values["step"].get("step", "0")}}
    operation = client.take()
    while operation:
        client.tell(operation)
        operation = client.take()
    print("closed", client.reason)


if __name__ == "__main__":
    {"end": end}[sys.argv[1]](*sys.argv[2:])
