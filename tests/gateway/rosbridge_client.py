#!/usr/bin/env python3
"""A client of rosbridge, and of other gateways that send JSON through a WebSocket. Only Python's own modules.

usage: rosbridge_client.py end PORT [PROTOCOL [NAME [FILE]]]
       rosbridge_client.py tf PORT NAMESPACE SENSOR FRAME...

It prints the reason with which the server closes the connection, and before it all operations with a status. With a
NAME it is a barrier client, joins, waits until FILE is there, and answers each step; the reply that ends this is
printed, too.

tf: listens as a node of ROS 2 does that was started in a namespace, with /tf remapped to tf: to NAMESPACE/tf, .../tf_static
and .../SENSOR. When all have come, it prints where each FRAME is in the frame "odom": "FRAME X Y Z", and at last the
frame of the sensor's message in the same way, as "sensor". A frame with two parents, or without a way to odom, is named
instead.
"""
import json
import os
import sys
import time

import web_socket


class Client(web_socket.WebSocket):
    """A connection on which each message is an operation in JSON."""

    reason = None

    def send(self, value):
        self.send_frame(web_socket.TEXT, json.dumps(value).encode())

    def take(self):
        """The next operation; None: the connection has ended, and self.reason says why."""
        try:
            while True:
                kind, body = self.take_frame()
                if kind == web_socket.CLOSE:
                    self.reason = web_socket.close_reason(body)
                    return None
                if kind == web_socket.TEXT:
                    return json.loads(body)
        except (EOFError, ConnectionError):
            return None

    def call(self, service, args):
        """The values of the reply; operations with a status that come before it are printed. A refusal is an end."""
        self.send({"op": "call_service", "id": 1, "service": service, "args": args})
        operation = self.take()
        while operation and operation["op"] != "service_response":
            self.tell(operation)
            operation = self.take()
        if operation and not operation["result"]:
            raise SystemExit("%s: %s" % (service, operation["values"]))
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


def turn(q, v):
    """The vector turned by the rotation (x, y, z, w)."""
    x, y, z, w = q
    t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])]
    return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]]


def place(parents, frame):
    """Of the frame in "odom", as text."""
    at, way = [0.0, 0.0, 0.0], []
    while frame != "odom":
        if frame not in parents or frame in way:
            return "no way to odom from %s" % frame
        way.append(frame)
        frame, move, rotation = parents[frame]
        at = [a + b for a, b in zip(turn(rotation, at), move)]
    return "%.3f %.3f %.3f" % tuple(round(n, 3) + 0.0 for n in at)


def tf(port, namespace, sensor, *frames):
    client = Client(port)
    topics = [namespace + "/tf", namespace + "/tf_static", namespace + "/" + sensor]
    heard, parents, wrong = {}, {}, []
    for topic in topics:
        client.send({"op": "subscribe", "topic": topic})
    while len(heard) < len(topics):
        operation = client.take()
        if not operation:
            raise SystemExit("the connection was closed: %s" % client.reason)
        if operation["op"] == "publish":
            heard[operation["topic"]] = operation["msg"]
        else:
            client.tell(operation)
    for transform in heard[topics[0]]["transforms"] + heard[topics[1]]["transforms"]:
        child, parent = transform["child_frame_id"], transform["header"]["frame_id"]
        if child in parents:
            wrong.append("%s has two parents: %s, %s" % (child, parents[child][0], parent))
        move, rotation = transform["transform"]["translation"], transform["transform"]["rotation"]
        parents[child] = (parent, [move[n] for n in "xyz"], [rotation[n] for n in "xyzw"])
    for frame in frames:
        print(frame, place(parents, frame))
    print("sensor", place(parents, heard[topics[2]]["header"]["frame_id"]))
    print("\n".join(wrong), end="\n" if wrong else "")


if __name__ == "__main__":
    {"end": end, "tf": tf}[sys.argv[1]](*sys.argv[2:])
