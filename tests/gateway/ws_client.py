#!/usr/bin/env python3
"""A client of `--serve ws`, by the document: tests/gateway/test_ws.sh starts it beside a run of worlds/spawn.sdf's kind.

usage: ws_client.py PORT

Prints a line "ok WHAT" or "not ok WHAT" for each thing that it has seen, and at last how the connection was closed."""
import json
import struct
import sys

import web_socket
from rosbridge_client import Client


class Ws(Client):
    """Also binary messages: (line, bytes)."""

    def take(self):
        kind, body = self.take_frame()
        if kind == web_socket.CLOSE:
            self.reason = web_socket.close_reason(body)
            return None
        if kind == web_socket.BINARY:
            line, rest = body.split(b"\n", 1)
            return line.decode(), rest
        return json.loads(body)

    def send_binary(self, body):
        self.send_frame(web_socket.BINARY, body)

    def until(self, wanted):
        """The next message that is wanted; None: the connection has ended."""
        while True:
            message = self.take()
            if message is None or wanted(message):
                return message

    def op(self, name, **members):
        return self.until(lambda m: isinstance(m, dict) and m["op"] == name and
                          all(m.get(key) == value for key, value in members.items()))


def check(good, what):
    print("%s %s" % ("ok" if good else "not ok", what), flush=True)


def varint(value):
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def main(port):
    client, other = Ws(port), Ws(port, "troupe.ws.v1")
    topics = client.op("topics")
    names = {kind: {row["name"]: row for row in topics[kind]} for kind in ("published", "taken", "services")}
    check("/clock" in names["published"] and "/model/cart/cmd_vel" in names["taken"], "topics are listed")
    check(names["services"]["/world/w/control"]["reply"] == "gz.msgs.Boolean", "services are listed, with their replies")
    check("/lockstep/join" in names["services"], "barrier clients can join")

    client.send({"op": "subscribe", "topic": "/clock", "rate": 20})
    times = [client.op("message", topic="/clock")["time"] for _ in range(5)]
    check(all(0.045 < b - a < 0.2 for a, b in zip(times, times[1:])), "twenty messages in a simulated second: %s" % times)
    other.send({"op": "subscribe", "topic": "/clock"})
    steps = [other.op("message", topic="/clock")["step"] for _ in range(20)]
    check(steps == list(range(steps[0], steps[0] + 20)), "another client gets each step: %s" % steps)
    message = client.op("message", topic="/clock")
    check(message["type"] == "gz.msgs.Clock" and message["step"] > 0, "a message has type and step")
    times = [client.op("message", topic="/clock")["time"] for _ in range(4)]
    check(all(0.045 < b - a for a, b in zip(times, times[1:])), "the first one still gets twenty: %s" % times)

    other.send({"op": "subscribe", "topic": "/clock", "format": "protobuf"})
    line, body = other.until(lambda m: isinstance(m, tuple))
    topic, kind, step, time_ns = line.split(" ")
    check((topic, kind) == ("/clock", "gz.msgs.Clock") and int(time_ns) == int(step) * 1000000 and body, "protobuf: %s" % line)
    other.send({"op": "unsubscribe", "topic": "/clock"})
    client.send({"op": "subscribe", "topic": "/model/cart/odometry", "rate": 10})
    check(abs(client.op("message", topic="/model/cart/odometry")["message"]["pose"]["position"].get("x", 0)) < 1e-9,
          "the cart stands")

    client.send({"op": "publish", "topic": "/model/cart/cmd_vel", "message": {"linear": {"x": 1}}})
    moved = client.until(lambda m: m["op"] == "message" and m["topic"] == "/model/cart/odometry" and
                         m["message"]["pose"]["position"].get("x", 0) > 0.05)
    check(moved, "a message as JSON drives it")
    twist = b"\x12" + varint(11) + b"\x19" + struct.pack("<d", 2.0) + b"\x10\x00"  # linear {y 2}
    other.send_binary(b"/model/cart/cmd_vel\n" + twist)
    moved = client.until(lambda m: m["op"] == "message" and m["topic"] == "/model/cart/odometry" and
                         m["message"]["pose"]["position"].get("y", 0) > 0.05)
    check(moved, "and so does one as protobuf")

    other.send({"op": "call", "id": 7, "service": "/world/w/set_pose", "request": {"name": "cart", "position": {"x": -3}}})
    reply = other.op("reply")
    check(reply["id"] == 7 and reply["ok"] and reply["reply"] == {"data": True} and reply["step"] > 0, "a call: %s" % reply)
    other.send({"op": "call", "id": 8, "service": "/world/w/remove", "request": {"name": "nobody"}})
    reply = other.op("reply", id=8)
    check(not reply["ok"] and "nobody" in reply["text"], "a refused one has the reason: %s" % reply)

    other.send({"op": "call", "id": 9, "service": "/world/w/create", "request": {
        "sdf": "<sdf version='1.9'><model name='late'><link name='l'/><plugin name='gz::sim::systems::VelocityControl' "
               "filename='x'/></model></sdf>", "name": "late"}})
    check(client.until(lambda m: m["op"] == "topics" and any(t["name"] == "/model/late/cmd_vel" for t in m["taken"])),
          "a topic that comes is told")
    check(other.op("reply", id=9)["ok"], "and its model is there")
    other.send({"op": "call", "id": 10, "service": "/world/w/remove", "request": {"name": "late", "type": 2}})
    check(client.until(lambda m: m["op"] == "topics" and not any(t["name"] == "/model/late/cmd_vel" for t in m["taken"])),
          "and one that goes")

    for wrong, word in (({"op": "dance"}, "dance"), ({"op": "subscribe"}, "topic"), ({"op": "subscribe", "topic": "/a", "rate": -1}, "rate"),
                        ({"op": "subscribe", "topic": "/a", "format": "xml"}, "xml"), ({"op": "publish", "topic": "/nowhere"}, "/nowhere"),
                        ({"op": "publish", "topic": "/model/cart/cmd_vel", "message": {"linear": 1}}, "message"),
                        ({"op": "unsubscribe", "topic": "/never"}, "/never"), ({"op": "call", "service": "/world/w/control"}, "id")):
        other.send(wrong)
        check(word in other.op("error")["text"], "refused: %s" % json.dumps(wrong))
    other.send({"op": "call", "id": 11, "service": "/no/service"})
    check(not other.op("reply", id=11)["ok"], "a call of no service is answered")
    other.send_binary(b"no line")
    check("first line" in other.op("error")["text"], "a binary message without a topic")
    other.socket.sendall(b"\x81\x83" + bytes(4) + b"{]}")
    check("column" in other.op("error")["text"], "a text that is no JSON")

    other.send({"op": "call", "id": 12, "service": "/server_control", "request": {"stop": True}})
    end = client.op("end")
    check(end and end["failed"] is False and end["text"] == "the run has ended", "the end is told: %s" % end)
    check(client.take() is None and client.reason.startswith("1001"), "closed: %s" % client.reason)


if __name__ == "__main__":
    main(sys.argv[1])
