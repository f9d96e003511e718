"""Each gateway of a run, from the outside: a driver has the same operations whatever the protocol is, so that one suite
(gateway_suite) plays them all. A message is the pair of its simulated time, in ns, and its fields.

A driver says where its protocol has less than others: `lacks` names what it does not have, with the reason.
"""
import ctypes
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "gateway"))
import mcap_reader  # noqa: E402
import ros_domain  # noqa: E402
import web_socket  # noqa: E402

PATIENCE_S = 60  # for one event: what takes longer hangs, on a busy machine, too


class Failed(Exception):
    """What the suite expected has not come."""


def end_with_parent():
    """In a new process: it is killed when this program ends, however that is."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def until(what, happened, work=lambda: time.sleep(0.01)):
    """Calls `work` until it has happened."""
    end = time.monotonic() + PATIENCE_S
    while True:
        value = happened()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed("%s: not within %d s" % (what, PATIENCE_S))
        work()


class Client:
    """A program that is connected. Messages by topic, in the order in which they came; what was said to it, as text."""

    def __init__(self):
        self.messages, self.said, self.news, self.end = {}, [], 0, None
        self.failure = None  # why the run has failed, as the protocol tells it before the end

    def wait(self, what, happened):
        """Reads until it has happened; the end of the connection is an error, unless it is what is waited for."""
        def read():
            if self.end is not None:
                raise Failed("%s: the connection has ended: %s %s" % (what, self.end, self.said))
            self.pump(0.2)
        return until(what, happened, read)

    def times(self, topic):
        return [at for at, _ in self.messages.get(topic, [])]

    def await_messages(self, topic, count):
        self.wait("%d messages of %s" % (count, topic), lambda: len(self.messages.get(topic, [])) >= count)
        return self.messages[topic]

    def await_time(self, topic, time_ns):
        """Until the message of this time, or a later one, has come."""
        self.wait("%s at %d ns" % (topic, time_ns), lambda: any(at >= time_ns for at in self.times(topic)))
        return self.messages[topic]

    def await_said(self, *words):
        """A line that was said to the client and has all the words; it is taken out."""
        def find():
            return [line for line in self.said if all(word in line for word in words)]
        line = self.wait("a line with %s" % (words,), find)[0]
        self.said.remove(line)
        return line

    def end_reason(self):
        """Whether the run has failed, and the reason, after the server has ended the connection."""
        until("the end of the connection", lambda: self.end is not None, lambda: self.pump(0.2))
        return self.end


class Web(Client):
    """A WebSocket: frames are read as they come."""

    def __init__(self, port, protocol):
        Client.__init__(self)
        self.link = web_socket.WebSocket(port, protocol)
        self.bytes = self.link.bytes
        self.take_frames()  # those that came with the answer to the request

    def pump(self, timeout_s):
        if self.end is not None or not select.select([self.link.socket], [], [], timeout_s)[0]:
            return
        try:
            more = self.link.socket.recv(1 << 16)
        except ConnectionError:
            more = b""
        if not more:
            self.end = self.end or (None, "the connection was closed without a word")
            return
        self.bytes += more
        self.take_frames()

    def take_frames(self):
        frame = self.frame()
        while frame:
            self.take(*frame)
            frame = self.frame()

    def frame(self):
        frame = web_socket.split_frame(self.bytes)
        if not frame:
            return None
        self.bytes = frame[2]
        return frame[:2]

    def take(self, kind, body):
        if kind == 1:
            self.hear(json.loads(body))
        elif kind == 2:
            self.hear_bytes(body)
        elif kind == 8:
            self.end = self.failure and (True, self.failure) or (False, web_socket.close_reason(body))
            try:
                self.send_frame(8, body[:2])
            except ConnectionError:
                pass
            self.link.socket.close()
        elif kind == 9:
            self.send_frame(10, body)

    def hear_bytes(self, body):
        pass

    def send_frame(self, kind, body):
        self.link.send_frame(kind, body)

    def send(self, value):
        self.send_frame(1, json.dumps(value).encode())

    def send_raw(self, body):
        """Bytes that are no frame. The server may have closed already."""
        try:
            self.link.socket.sendall(body)
        except ConnectionError:
            pass

    def read_slowly(self):
        """From now on the client takes little from the kernel: the server's queue has to keep what it does not read."""
        self.link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)

    def close(self):
        """Leaves, and waits until the server has noticed."""
        if self.end is None:
            self.send_frame(8, struct.pack(">H", 1000))
            until("the server closes", lambda: self.end is not None, lambda: self.pump(0.2))

    def vanish(self):
        """The program was killed."""
        if self.end is not None:
            return
        self.link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.link.socket.close()
        self.end = (None, "left")




class Driver:
    """A gateway. Names of topics and models are those of gz-transport, unless a driver has others."""
    lacks = {}      # notion -> reason
    fails = {}      # case -> reason: expected to fail
    environment = {"TROUPE_NO_GZ": "1"}

    def __init__(self, place):
        self.place = place

    is_file = False
    tells_garbage = True  # or it is ignored
    slow_count = 60
    sensor_lag_ns = 0  # so much earlier than its state is the time of a sensor's message, if it is taken from its stamp
    end_lag_ns = 0  # so much earlier than the end is the last message
    rubbish = []    # of what carries the protocol

    def missing(self, troupe):
        """Why the build, or the machine, lacks what this driver needs; None: it does not."""
        with open("missing.sdf", "w", encoding="ascii") as file:
            file.write('<sdf version="1.9"><world name="w"/></sdf>')
        done = subprocess.run([troupe, "run", "missing.sdf", "--iterations", "1", "--rtf", "0", "-v", "0", *self.options],
                              capture_output=True, text=True, timeout=PATIENCE_S, env=dict(os.environ, **self.environment))
        if done.returncode and re.search("build", done.stderr):
            return done.stderr.splitlines()[0]
        return None

    def hang(self, client):
        """The client stops to read."""

    def go_on(self, client):
        pass

    def forget(self, run):
        """Until the gateway has noticed that a client has left."""
        self.connect(run).close()

    def forget_topic(self, client, topic):
        """The topic has gone, and may come again."""
        client.unsubscribe(topic)

    def allows(self, name):
        """Whether a model of this name can have topics here."""
        return True

    def odometries(self, topics):
        return {topic for topic in topics if re.fullmatch("/model/.*/odometry", topic)}

    def command_of(self, odometry):
        """The topic that takes commands for the model of this odometry."""
        return odometry[:-len("odometry")] + "cmd_vel"

    def clean(self, model):
        """The name of a model as it is in topics."""
        return "".join("_" if c <= " " else c for c in model if c not in "@~")

    def topic(self, kind, model="cart"):
        model = self.clean(model)
        return {"clock": "/clock", "odom": "/model/%s/odometry" % model, "cmd": "/model/%s/cmd_vel" % model,
                "imu": "/world/w/model/%s/link/base/sensor/imu/imu" % model,
                "image": "/world/w/model/%s/link/base/sensor/eye/image" % model,
                "standing": "/world/w/scene/info"}[kind]


def address_port(run, what):
    """The port that the run says."""
    return int(run.await_said(r"%s: [a-z]*://127\.0\.0\.1:(\d+)/" % what))


# no frames, not masked, reserved bits, a control frame in parts, longer than any message, text that is not UTF-8
WEB_RUBBISH = [lambda c: c.send_raw(os.urandom(4000)), lambda c: c.send_raw(b"\x81\x02{}"), lambda c: c.send_raw(b"\xf1\x80\0\0\0\0"),
               lambda c: c.send_raw(b"\x09\x80\0\0\0\0"), lambda c: c.send_raw(b"\x81\xff\x7f" + b"\xff" * 7 + bytes(4)),
               lambda c: c.send_frame(1, b"\xff\xfe"), lambda c: c.send_frame(3, b"")]


class RosbridgeClient(Web):
    def __init__(self, port):
        self.replies, self.calls = {}, 0
        Web.__init__(self, port, "")

    def hear(self, operation):
        op = operation["op"]
        if op == "publish":
            message = operation["msg"]
            stamp = message.get("clock") or message.get("header", {}).get("stamp") or \
                (message.get("transforms") or [{}])[0].get("header", {}).get("stamp", {"sec": 0, "nanosec": 0})
            at = stamp["sec"] * 10**9 + stamp["nanosec"]
            self.messages.setdefault(operation["topic"], []).append((at, message))
        elif op == "status":
            text = operation["msg"]
            if operation["level"] == "error" and text.startswith("the run has failed: "):
                self.failure = text[len("the run has failed: "):]
            self.said.append("%s: %s" % (operation["level"], text))
        elif op == "service_response":
            self.replies[operation["id"]] = operation

    def ask(self, service, request):
        self.calls += 1
        self.send({"op": "call_service", "id": str(self.calls), "service": service, "args": request})
        return str(self.calls)

    def answer(self, number):
        reply = self.wait("the answer to call %s" % number, lambda: self.replies.get(number))
        return reply["result"], reply["values"]

    def call(self, service, request):
        good, values = self.answer(self.ask(service, request))
        return good and (not isinstance(values, dict) or values.get("data", True)), values

    def topics(self):
        return set(self.call("/rosapi/topics", {})[1]["topics"])

    def barrier(self):
        self.call("/rosapi/get_time", {})

    def subscribe(self, topic, rate=0, name=None):
        operation = {"op": "subscribe", "topic": topic, "throttle_rate": 1000 / rate if rate else 0}
        self.send(dict(operation, id=name) if name else operation)

    def unsubscribe(self, topic, name=None):
        self.send({"op": "unsubscribe", "topic": topic, "id": name} if name else {"op": "unsubscribe", "topic": topic})

    def publish(self, topic, message):
        self.send({"op": "publish", "topic": topic, "msg": message})

    def refusal(self, topic):
        return self.await_said("error: publish: ", topic)


class RosNames:
    """Names of ROS 2: letters, digits and _, and no digit first."""

    def topic(self, kind, model="cart"):
        model = re.sub("[^A-Za-z0-9]", "_", self.clean(model).encode().decode("latin-1"))  # each byte of UTF-8 is one "_"
        model = "n" + model if model[0].isdigit() else model
        return {"clock": "/clock", "odom": "/%s/odom" % model, "cmd": "/%s/cmd_vel" % model,
                "imu": "/%s/imu" % model, "image": "/%s/image" % model, "standing": "/tf_static"}[kind]

    def odometries(self, topics):
        return {topic for topic in topics if re.fullmatch("/.*/odom", topic)}

    def command_of(self, odometry):
        return odometry[:-len("odom")] + "cmd_vel"


class Rosbridge(RosNames, Driver):
    name = "rosbridge"
    lacks = {"rates": "throttle_rate is in ms of real time, as rosbridge_suite has it",
             "news": "rosbridge has no operation that tells of topics: clients ask rosapi again"}
    options = ["--rosbridge", "0"]
    sensor_lag_ns = 10**7

    def connect(self, run):
        return RosbridgeClient(address_port(run, "rosbridge"))

    rubbish = WEB_RUBBISH
    garbage = [lambda c: c.send_frame(1, b"{\"op\":"), lambda c: c.send_frame(1, b"[1,2]"), lambda c: c.send({"op": 7}),
               lambda c: c.send({"op": "subscribe", "topic": ["x"]}), lambda c: c.send({"op": "publish", "topic": "/clock", "msg": 3}),
               lambda c: c.send_frame(2, os.urandom(200)), lambda c: c.send({"op": "call_service", "service": None})]


def of_cdr(topic, body):
    """Of a message of ROS 2 the fields that the suite looks at: the place of an odometry."""
    if not topic.endswith(("/odometry", "/odom")):
        return {"bytes": len(body)}
    at = 4 + 8  # behind the kind of CDR and the stamp
    for _ in range(2):
        at += 4 + struct.unpack("<I", body[at:at + 4])[0]
        at = (at + 3) & ~3
    at = 4 + ((at - 4 + 7) & ~7)
    x, y, z = struct.unpack("<3d", body[at:at + 24])
    return {"pose": {"pose": {"position": {"x": x, "y": y, "z": z}}}}


class FoxgloveClient(Web):
    def __init__(self, port):
        self.channels, self.services, self.names, self.replies = {}, {}, {}, {}
        self.given, self.calls, self.info, self.outlets = 0, 0, None, {}
        Web.__init__(self, port, "foxglove.sdk.v1")
        self.wait("the table", lambda: self.services)

    def hear(self, operation):
        op = operation["op"]
        if op == "serverInfo":
            self.info = operation
        elif op == "advertise":
            for channel in operation["channels"]:
                self.channels[channel["topic"]] = channel
            self.news += 1
        elif op == "unadvertise":
            gone = set(operation["channelIds"])
            self.channels = {k: v for k, v in self.channels.items() if v["id"] not in gone}
            self.news += 1
        elif op == "advertiseServices":
            for service in operation["services"]:
                self.services[service["name"]] = service["id"]
        elif op == "status":
            text = operation["message"]
            if operation["level"] == 2 and text.startswith("the run has failed: "):
                self.failure = text[len("the run has failed: "):]
            self.said.append("%s: %s" % (["info", "warning", "error"][operation["level"]], text))
        elif op == "serviceCallFailure":
            self.replies[operation["callId"]] = (False, operation["message"])

    def hear_bytes(self, body):
        if body[0] == 1:
            number, at = struct.unpack("<IQ", body[1:13])
            if number in self.names:
                self.messages.setdefault(self.names[number], []).append((at, self.fields(self.names[number], body[13:])))
            else:
                self.said.append("error: a message of subscription %d, which there is not" % number)
        elif body[0] == 3:
            _, call, encoding = struct.unpack("<III", body[1:13])
            reply = json.loads(body[13 + encoding:] or b"{}")
            self.replies[call] = (reply.get("data", True) is not False, reply)

    def fields(self, topic, body):
        """JSON; of CDR only the position of an odometry."""
        if self.channels.get(topic, {}).get("encoding") == "json":
            return json.loads(body)
        return of_cdr(topic, body)

    def topics(self):
        self.barrier()
        return set(self.channels)

    def call_number(self, number, request):
        self.calls += 1
        self.send_frame(2, struct.pack("<BIII", 2, number, self.calls, 4) + b"json" + json.dumps(request).encode())
        return self.calls

    def ask(self, service, request):
        return self.call_number(self.services.get(service, 999999), request)

    def answer(self, number):
        return self.wait("the answer to call %s" % number, lambda: self.replies.get(number))

    def call(self, service, request):
        return self.answer(self.ask(service, request))

    def barrier(self):
        self.answer(self.call_number(999999, {}))

    def subscribe(self, topic, rate=0, name=None):
        channel = self.wait("channel %s" % topic, lambda: self.channels.get(topic))
        self.given += 1
        self.names[self.given] = topic
        self.send({"op": "subscribe", "subscriptions": [{"id": self.given, "channelId": channel["id"]}]})

    def unsubscribe(self, topic, name=None):
        number = [number for number, of in self.names.items() if of == topic][0]
        self.send({"op": "unsubscribe", "subscriptionIds": [number]})
        self.barrier()  # what was under way has come
        del self.names[number]

    def publish(self, topic, message):
        if topic not in self.outlets:
            self.outlets[topic] = len(self.outlets) + 1
            self.send({"op": "advertise", "channels": [{"id": self.outlets[topic], "topic": topic, "encoding": "json",
                                                        "schemaName": "gz.msgs.Twist"}]})
        self.send_frame(2, struct.pack("<BI", 1, self.outlets[topic]) + json.dumps(message).encode())

    def refusal(self, topic):
        return self.await_said(topic)


class Foxglove(Driver):
    name = "foxglove"
    lacks = {"rates": "a subscription of Foxglove's protocol has no rate"}
    options = ["--foxglove", "0"]
    rubbish = WEB_RUBBISH

    def connect(self, run):
        return FoxgloveClient(address_port(run, "Foxglove"))

    garbage = [lambda c: c.send_frame(1, b"{\"op\":"), lambda c: c.send_frame(1, b"[1,2]"), lambda c: c.send({"op": "x" * 5000}),
               lambda c: c.send({"op": "subscribe", "subscriptions": [{"id": 1, "channelId": 10**9}, {"id": -1}]}),
               lambda c: c.send_frame(2, b""), lambda c: c.send_frame(2, os.urandom(200)), lambda c: c.send_frame(2, b"\2\1"),
               lambda c: c.send_frame(2, b"\1\xff\xff\xff\xff{}")]


class ViewClient(Web):
    def __init__(self, port):
        self.replies, self.calls, self.table, self.hello = {}, 0, None, None
        Web.__init__(self, port, "troupe.view.v1")
        self.wait("hello", lambda: self.hello)

    def hear(self, operation):
        op = operation["op"]
        if op == "hello":
            self.hello = operation
        elif op == "topics":
            self.table = operation
        elif op == "epoch":
            self.news += 1
        elif op == "message":
            self.messages.setdefault(operation["topic"], []).append((round(operation["time"] * 1e9), operation["message"]))
        elif op == "reply":
            self.replies[operation["id"]] = operation
        elif op == "error":
            self.said.append(operation["text"])
        elif op == "bye":
            text = operation["text"]
            self.said.append(text)
            self.failure = None if text == "the run has ended" else text

    def hear_bytes(self, body):
        if body[0] == 2:
            count = struct.unpack("<I", body[4:8])[0]
            self.hear(json.loads(body[8:8 + count]))

    def topics(self):
        self.table = None
        self.send({"op": "topics"})
        self.wait("topics", lambda: self.table)
        return {row["name"] for row in self.table["published"]}

    barrier = topics

    def ask(self, service, request):
        self.calls += 1
        self.send({"op": "call", "id": self.calls, "service": service, "request": request})
        return self.calls

    def answer(self, number):
        reply = self.wait("the answer to call %d" % number, lambda: self.replies.get(number))
        return reply["ok"], reply.get("reply", reply.get("text"))

    def call(self, service, request):
        return self.answer(self.ask(service, request))

    def subscribe(self, topic, rate=0, name=None):
        self.send({"op": "subscribe", "topic": topic, "rate": rate})

    def unsubscribe(self, topic, name=None):
        self.send({"op": "unsubscribe", "topic": topic})

    def publish(self, topic, message):
        self.send({"op": "publish", "topic": topic, "message": message})

    def refusal(self, topic):
        return self.await_said("")


class View(Driver):
    name = "view"
    lacks = {"rates": "a rate is one of real time, too, so a fast run has fewer messages",
             "two of one client": "a page has one subscription of a topic"}
    options = ["--view-address", "0"]
    rubbish = WEB_RUBBISH

    def connect(self, run):
        return ViewClient(address_port(run, "view"))

    garbage = [lambda c: c.send_frame(1, b"{\"op\":"), lambda c: c.send_frame(1, b"[1,2]"), lambda c: c.send({"op": 7}),
               lambda c: c.send({"op": "subscribe", "topic": 1}), lambda c: c.send({"op": "subscribe", "topic": "/clock", "rate": -1}),
               lambda c: c.send({"op": "call", "id": -1, "service": "x"}), lambda c: c.send({"op": "motion", "world": "x"}),
               lambda c: c.send({"op": "seek", "step": 1}), lambda c: c.send_frame(2, os.urandom(200))]


class WsClient(ViewClient):
    """The operations of view's page, but for pictures, and a few names."""

    def __init__(self, port):
        self.replies, self.calls, self.table = {}, 0, None
        Web.__init__(self, port, "")
        self.wait("topics", lambda: self.table)

    def hear(self, operation):
        if operation["op"] == "topics":
            self.news += self.table is not None
            self.table = operation
        elif operation["op"] == "end":
            self.said.append(operation["text"])
            self.failure = operation["text"] if operation["failed"] else None
        elif operation["op"] == "lost":
            self.said.append("%d messages were lost" % operation["messages"])
        else:
            ViewClient.hear(self, operation)

    def topics(self):
        self.table, news = None, self.news
        self.send({"op": "topics"})
        self.wait("topics", lambda: self.table)
        self.news = news
        return {row["name"] for row in self.table["published"]}

    barrier = topics


class Ws(Driver):
    name = "ws"
    lacks = {"two of one client": "a client has one subscription of a topic"}
    options = ["--serve", "ws=0"]
    rubbish = WEB_RUBBISH

    def connect(self, run):
        return WsClient(address_port(run, "WebSocket"))

    garbage = [lambda c: c.send_frame(1, b"{\"op\":"), lambda c: c.send_frame(1, b"[1,2]"), lambda c: c.send({"op": 7}),
               lambda c: c.send({"op": "subscribe", "topic": 1}), lambda c: c.send({"op": "subscribe", "topic": "/clock", "rate": -1}),
               lambda c: c.send({"op": "call", "id": -1, "service": "x"}), lambda c: c.send_frame(2, os.urandom(200))]


# --- protobuf, as much as is needed of it ----------------------------------------------------------------------------

def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def proto(*fields):
    """A message of pairs: number, and a whole number, a float (a double) or text."""
    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 128:
            return value, at


def fields_of(data):
    """The values of each field, by its number: whole numbers, doubles, bytes."""
    out, at = {}, 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 2:
            count, at = read_varint(data, at)
            value, at = data[at:at + count], at + count
        else:
            size = 8 if kind == 1 else 4
            value, at = struct.unpack("<d" if size == 8 else "<f", data[at:at + size])[0], at + size
        out.setdefault(key >> 3, []).append(value)
    return out


def of_gazebo(kind, data):
    """The fields of a message of Gazebo that the suite looks at."""
    if not kind.endswith("Odometry"):
        return {"bytes": len(data)}
    pose = fields_of(fields_of(data).get(2, [b""])[0])
    position = fields_of(pose.get(4, [b""])[0])
    return {"pose": {"position": {"x": position.get(2, [0])[0]}}}


# --- relay -----------------------------------------------------------------------------------------------------------

def numbers(*values):
    return struct.pack("<%dQ" % len(values), *values)


def protocol():
    with open(os.path.join(TESTS, "../src/net/hello.h"), encoding="ascii") as header:
        return int(re.search(r"HELLO_PROTOCOL = (\d+)", header.read()).group(1))


class RelayClient(Client):
    HELLO, WELCOME, REFUSE, HEARTBEAT, STOP, ASK, TELL = 1, 2, 3, 4, 5, 13, 14
    NOTHING, SUBSCRIBE, UNSUBSCRIBE, CALL, TOPICS, PUBLISH = range(6)

    def __init__(self, port, build):
        Client.__init__(self)
        self.bytes, self.table, self.replies, self.calls = b"", None, {}, 0
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        text = lambda value: numbers(len(value)) + value
        self.send(self.HELLO, b"troupe T" + numbers(protocol()) + text(b"suite") + numbers(3) + os.urandom(16) +
                  numbers(*[0] * 8) + text(build.encode()) + text(b"") + text(b"") + bytes(16) + bytes(16) +
                  numbers(0) + text(b""))
        self.worlds = None
        self.wait("the welcome", lambda: self.worlds is not None)

    def send(self, kind, payload):
        self.socket.sendall(struct.pack("<IB", len(payload), kind) + payload)

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError:
            pass

    def ask_for(self, *fields):
        self.send(self.ASK, proto(*fields))

    def pump(self, timeout_s):
        if self.end is not None or not select.select([self.socket], [], [], timeout_s)[0]:
            return
        try:
            more = self.socket.recv(1 << 20)
        except ConnectionError:
            more = b""
        if not more:
            self.end = self.end or (None, "the connection was closed without a word")
            return
        self.bytes += more
        while len(self.bytes) >= 5:
            count, kind = struct.unpack("<IB", self.bytes[:5])
            if len(self.bytes) < 5 + count:
                break
            payload, self.bytes = self.bytes[5:5 + count], self.bytes[5 + count:]
            self.take(kind, payload)

    def take(self, kind, payload):
        if kind == self.STOP:
            texts, at = [], 16
            for _ in range(2):
                count = struct.unpack("<Q", payload[at:at + 8])[0]
                texts.append(payload[at + 8:at + 8 + count].decode())
                at += 8 + count
            self.end = (struct.unpack("<Q", payload[:8])[0] != 1, texts[1])
            self.socket.close()
        elif kind == self.REFUSE:
            self.said.append(payload[8:].decode(errors="replace"))
        elif kind == self.TELL:
            self.hear(fields_of(payload))

    def hear(self, tell):
        what, topic = tell[1][0], tell.get(4, [b""])[0].decode()
        if what == 1:
            self.worlds = tell.get(12, [])
        elif what == 2:
            self.table = [fields_of(row) for row in tell.get(3, [])]
        elif what == 3:
            self.news += 1
        elif what == 4:
            data = of_gazebo(tell[5][0].decode(), tell.get(6, [b""])[0])
            self.messages.setdefault(topic, []).append((tell.get(8, [0])[0], data))
        elif what == 5:
            self.replies[tell.get(9, [0])[0]] = (not tell.get(10, [0])[0], tell.get(11, [b""])[0].decode())

    def topics(self):
        self.table = None
        self.ask_for((1, self.TOPICS))
        self.wait("topics", lambda: self.table is not None)
        return {row[1][0].decode() for row in self.table if not row.get(2)}

    barrier = topics

    def call(self, service, data=b""):
        self.calls += 1
        self.ask_for((1, self.CALL), (2, service), (4, self.calls), (6, data))
        return self.wait("the answer", lambda: self.replies.get(self.calls))

    def subscribe(self, topic, rate=0, name=None):
        self.ask_for((1, self.SUBSCRIBE), (2, topic), (3, float(rate)))

    def unsubscribe(self, topic, name=None):
        self.ask_for((1, self.UNSUBSCRIBE), (2, topic))

    def read_slowly(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)

    def close(self):
        if self.end is None:
            self.socket.shutdown(socket.SHUT_WR)
            until("the run closes", lambda: self.end is not None, lambda: self.pump(0.2))

    def vanish(self):
        if self.end is None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()
            self.end = (None, "left")


class Relay(Driver):
    name = "relay"
    lacks = {"commands": "a viewer changes nothing", "publish": "a viewer changes nothing", "calls": "a viewer changes nothing",
             "two of one client": "a viewer has one subscription of a topic"}
    options = ["--watch-listen", "127.0.0.1:0"]
    slow_count = 160  # beside what the kernel keeps, messages of 64 step boundaries wait

    def connect(self, run):
        version = subprocess.run([run.program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        return RelayClient(int(run.await_said(r"viewers join at 127\.0\.0\.1:(\d+)")), version)

    garbage = [lambda c: c.ask_for(), lambda c: c.ask_for((1, 99)), lambda c: c.ask_for((1, 5), (2, "/model/cart/cmd_vel")),
               lambda c: c.ask_for((1, 3), (2, "/world/w/create"), (4, 1)), lambda c: c.ask_for((1, 3), (2, "/nothing"), (4, 1)),
               lambda c: c.send(RelayClient.ASK, os.urandom(50)), lambda c: c.send(RelayClient.HELLO, b"again"),
               lambda c: c.send(RelayClient.TELL, b""), lambda c: c.send(99, b""), lambda c: c.send_raw(b"\xff" * 40)]


# --- barrier clients -------------------------------------------------------------------------------------------------

class LockstepClient(Client):
    """A barrier client of the socket: a thread answers each Step, with what is asked for meanwhile."""
    JOIN, DONE, LEAVE = 1, 2, 3
    count = 0

    def __init__(self, port, run):
        Client.__init__(self)
        LockstepClient.count += 1
        self.run, self.turns, self.asked, self.guard = run, 0, [], threading.Lock()
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.send(proto((self.JOIN, proto((1, 1), (2, "c%d" % LockstepClient.count), (5, PATIENCE_S * 10**9), (8, 1)))))
        welcome = fields_of(self.read_frame() or b"")
        if 1 not in welcome:
            raise Failed("not welcome: %s" % welcome)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def send(self, message):
        self.socket.sendall(struct.pack("<I", len(message)) + message)

    def send_raw(self, data):
        self.socket.sendall(data)

    def read_bytes(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                return None
            data += more
        return data

    def read_frame(self):
        head = self.read_bytes(4)
        return head and self.read_bytes(struct.unpack("<I", head)[0])

    def work(self):
        try:
            frame = self.read_frame()
            while frame is not None:
                self.take(fields_of(frame))
                frame = self.read_frame()
        except OSError:
            pass
        self.end = self.end or (None, "the connection was closed without a word")

    def take(self, said):
        if 4 in said:
            ended = fields_of(said[4][0])
            self.end = (bool(ended.get(1, [0])[0]), ended.get(2, [b""])[0].decode())
        elif 3 in said:
            step = fields_of(said[3][0])
            for message in step.get(3, []):
                self.hear(fields_of(message))
            with self.guard:
                asked, self.asked = self.asked, []
                self.turns += 1
            self.send(proto((self.DONE, proto((1, step.get(1, [0])[0]), *asked))))

    def hear(self, message):
        text = lambda number: message.get(number, [b""])[0].decode()
        if message.get(8, [0])[0]:
            self.said.append("%s: %s" % (text(1), text(9)))
            return
        x = re.search(r"position\s*\{\s*x: ([-+.0-9e]+)", text(10))
        self.messages.setdefault(text(1), []).append((message.get(7, [0])[0], {"pose": {"position": {"x": float(x.group(1)) if x else 0}}}))

    def ask(self, number, value):
        with self.guard:
            self.asked.append((number, value))

    def pump(self, timeout_s):
        """A message comes with the Step behind it, and what is asked for goes with the answer to one."""
        turns = self.turns
        if self.end is None and self.thread.is_alive():
            self.run.step(1)
        end = time.monotonic() + timeout_s
        while self.turns == turns and self.end is None and time.monotonic() < end:
            time.sleep(0.002)

    def end_reason(self):
        until("the end of the connection", lambda: self.end is not None)
        return self.end

    def barrier(self):
        turns = self.turns
        self.wait("two turns", lambda: self.turns >= turns + 2)

    def subscribe(self, topic, rate=0, name=None):
        self.ask(3, proto((1, topic), (2, float(rate))))

    def unsubscribe(self, topic, name=None):
        self.ask(4, topic)

    def publish(self, topic, message):
        value = lambda part: " ".join("%s { %s }" % (key, value(each)) if isinstance(each, dict) else
                                      "%s: %s" % (key, json.dumps(each)) for key, each in part.items())
        self.ask(2, proto((1, topic), (10, value(message) or " ")))

    def refusal(self, topic):
        return self.await_said(topic)

    def close(self):
        """Leaves with its next answer."""
        self.vanish()

    def vanish(self):
        if self.end is None:
            self.socket.shutdown(socket.SHUT_RDWR)
            self.thread.join()
            self.socket.close()


class Lockstep(Driver):
    name = "lockstep"
    lacks = {"slow": "the run waits for its barrier clients", "names": "the socket has no list of topics",
             "come and go": "the socket has no list of topics", "demand": "the socket has no list of topics",
             "late": "a message comes with a Step, and a world that is paused takes none",
             "calls": "a call goes with the answer to a Step, and a world that is paused takes none (tests/gateway/test_lockstep)",
             "two of one client": "a barrier client has one subscription of a topic"}
    options = ["--lockstep-listen", "127.0.0.1:0"]
    end_lag_ns = 10**7  # the messages of a state come with its Step, and the last state has none

    def connect(self, run):
        return LockstepClient(int(run.await_said(r"clients join at 127\.0\.0\.1:(\d+)")), run)

    garbage = [lambda c: c.send_raw(b"\xff" * 40), lambda c: c.send_raw(struct.pack("<I", 40) + os.urandom(40)),
               lambda c: c.send(proto((1, proto((1, 1), (2, "again"))))), lambda c: c.send(proto((2, proto((1, 10**6))))),
               lambda c: c.send(b"")]


# --- gz-transport ----------------------------------------------------------------------------------------------------

class GzClient(Client):
    """The programs of one person: gz_peer for each subscription, and troupe's own commands for one publication or call."""

    def __init__(self, driver, run):
        Client.__init__(self)
        self.driver, self.run, self.peers, self.count = driver, run, {}, 0

    def start(self, topic):
        self.count += 1
        path = "peer.%d.%d" % (id(self), self.count)
        with open(path, "w", encoding="ascii") as out:
            process = subprocess.Popen([self.driver.peer, "sub", topic], stdout=out, stderr=subprocess.STDOUT,
                                       env=dict(os.environ, **self.driver.environment), preexec_fn=end_with_parent)
        return process, open(path, "rb"), path

    def pump(self, timeout_s):
        for process, file, path in list(self.peers.values()):
            while True:
                at = file.tell()
                line = file.readline()
                if not line.endswith(b"\n"):
                    file.seek(at)
                    break
                self.hear(line.decode())
        time.sleep(min(timeout_s, 0.01))

    def hear(self, line):
        words = line.split()
        if words[:1] != ["message"]:
            return
        kind, data = words[2], bytes.fromhex(words[3] if len(words) > 3 else "")
        # the stamp of the header; of a clock, the time itself
        fields = fields_of(data)
        stamp = fields.get(4, [b""])[0] if kind.endswith("Clock") else fields_of(fields.get(1, [b""])[0]).get(1, [b""])[0]
        stamp = fields_of(stamp)
        at = stamp.get(1, [0])[0] * 10**9 + stamp.get(2, [0])[0]
        self.messages.setdefault(words[1], []).append((at, of_gazebo(kind, data)))

    def command(self, *words):
        return subprocess.run([self.run.program, *words], capture_output=True, text=True, timeout=2 * PATIENCE_S,
                              env=dict(os.environ, **self.driver.environment))

    def topics(self):
        return set(self.command("topic", "list").stdout.split())

    def barrier(self):
        """Discovery has no order."""

    def subscribe(self, topic, rate=0, name=None):
        self.peers[name or topic] = self.start(topic)

    def unsubscribe(self, topic, name=None):
        process, file, path = self.peers.pop(name or topic)
        process.terminate()
        process.wait()
        file.close()

    def publish(self, topic, message):
        done = self.command("topic", "pub", topic, "-m", "Twist", "--json", "-p", json.dumps(message), "--timeout", str(PATIENCE_S))
        if done.returncode:
            raise Failed("a publication on %s: %s" % (topic, done.stderr))

    def call(self, service, request):
        done = self.command("service", "call", service, "--json", "--req", json.dumps(request), "--timeout", str(PATIENCE_S * 1000))
        return not done.returncode and json.loads(done.stdout or "{}").get("data", True), done.stdout + done.stderr

    def read_slowly(self):
        pass

    def close(self):
        for topic in list(self.peers):
            self.unsubscribe(topic)

    def vanish(self):
        for process, file, path in self.peers.values():
            process.kill()
            process.wait()
            file.close()
        self.peers.clear()


class Gz(Driver):
    name = "gz"
    lacks = {"end": "a node of gz-transport goes without a word", "failure": "a node of gz-transport goes without a word",
             "slow": "ZeroMQ keeps the oldest of what waits, and drops what comes when its queue is full; test_crowd.sh shows "
                     "that others are not delayed",
             "refusal": "who publishes by gz-transport gets no answer", "news": "a program lists the topics again",
             "rates": "a subscriber of gz-transport drops messages itself",
             "demand": "no program sees when a run has noticed that a subscriber has gone",
             "alone": "a socket of ZeroMQ that publishes sends each message to all that subscribe to its topic, and programs "
                      "take a message only under the topic's own name, from the address that all of them know",
             "alone: standing": "as the clock",
             "two of one client": "each subscription here is a process"}
    options = ["-v", "3"]

    def __init__(self, place):
        Driver.__init__(self, place)
        port = 10000 + os.getpid() % 11000 * 2  # below the ports that the system gives to programs
        self.port = port
        self.environment = {"TROUPE_NO_GZ": "", "GZ_PARTITION": "suite%d" % os.getpid(), "IGN_PARTITION": "suite%d" % os.getpid(),
                            "GZ_DISCOVERY_MSG_PORT": str(port), "IGN_DISCOVERY_MSG_PORT": str(port),
                            "GZ_DISCOVERY_SRV_PORT": str(port + 1), "IGN_DISCOVERY_SRV_PORT": str(port + 1)}

    def missing(self, troupe):
        self.peer = os.path.join(os.path.dirname(troupe), "tests", "gateway", "gz_peer")
        return None if os.path.exists(self.peer) else "no gz_peer: it is not built yet, or this build has no gz-transport"

    def connect(self, run):
        run.await_said(r"gz-transport: (.*)")
        return GzClient(self, run)

    def forget(self, run):
        pass

    def beacon(self, data):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            for port in self.port, self.port + 1:
                out.sendto(data, ("239.255.0.7", port))

    @property
    def garbage(self):
        return [lambda c: self.beacon(b""), lambda c: self.beacon(os.urandom(1000)), lambda c: self.beacon(b"\x0a\0" + b"\xff" * 60)]
    tells_garbage = False


# --- DDS -------------------------------------------------------------------------------------------------------------

class DdsClient(Client):
    """A node on Cyclone DDS, gateway_dds.c: a process that is told line by line what to do."""

    def __init__(self, driver):
        Client.__init__(self)
        self.driver = driver
        self.process = subprocess.Popen([driver.node, str(driver.domain)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=dict(os.environ, **driver.environment), preexec_fn=end_with_parent)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.bytes, self.table, self.listed, self.published = b"", set(), None, 0

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def pump(self, timeout_s):
        if self.end is not None or not select.select([self.process.stdout], [], [], timeout_s)[0]:
            return
        more = self.process.stdout.read(1 << 20)
        if not more:
            self.end = (None, "the node has ended")
            return
        *lines, self.bytes = (self.bytes + more).split(b"\n")
        for line in lines:
            self.hear(line.decode().split())

    def hear(self, words):
        if words[0] == "message":
            at = int(words[2]) * 10**9 + int(words[3])
            self.messages.setdefault(words[1], []).append((at, {"pose": {"position": {"x": float(words[4])}}}))
        elif words[0] == "topic":
            self.table.add(words[1])
        elif words[0] == "topics":
            self.listed, self.table = self.table, set()
        elif words[0] == "published":
            self.published += 1
        elif words[0] != "ready":
            self.said.append(" ".join(words))

    def topics(self):
        """Discovery takes a moment, and has no end: the clock is always there."""
        def ask():
            self.listed = None
            self.tell("topics")
            self.wait("topics", lambda: self.listed is not None)
            return "/clock" in self.listed and "/tf_static" in self.listed
        until("the run is found", ask)
        return self.listed

    def barrier(self):
        """What was published has been acknowledged; else DDS has no order."""

    def subscribe(self, topic, rate=0, name=None):
        kind = {"/clock": "clock", "/tf_static": "tf"}.get(topic, "image" if topic.endswith("/image") else "odom")
        self.tell("sub %s %s" % (topic, kind))

    def unsubscribe(self, topic, name=None):
        self.tell("unsub %s" % topic)
        self.listed = None
        self.tell("topics")
        self.wait("the node has unsubscribed", lambda: self.listed is not None)

    def publish(self, topic, message):
        before = self.published
        self.tell("pub %s %g" % (topic, message["linear"]["x"]))
        self.wait("the publication", lambda: self.published > before)

    def call(self, service, request):
        """A model is created by SpawnEntity: nodes have simulation_interfaces in place of Gazebo's services."""
        if not service.endswith("/create"):
            raise Failed("%s: no service of simulation_interfaces does this" % service)
        name = re.search('<model name="([^"]*)"', request["sdf"]).group(1)
        with open("spawned.sdf", "w", encoding="utf-8") as file:
            file.write(request["sdf"])
        done = subprocess.run([self.driver.caller, "domain:%d" % self.driver.domain, "spawn:%s:0:%s" % (name, os.path.abspath("spawned.sdf"))],
                              capture_output=True, text=True, timeout=2 * PATIENCE_S, env=dict(os.environ, **self.driver.environment))
        return "result=1 " in done.stdout, done.stdout + done.stderr

    def read_slowly(self):
        pass

    def close(self):
        if self.end is None:
            self.process.stdin.close()
            self.process.wait()
            self.end = (None, "left")

    def vanish(self):
        self.process.kill()
        self.process.wait()
        self.end = (None, "left")


class Dds(RosNames, Driver):
    name = "dds"
    lacks = {"end": "a node of ROS 2 goes without a word; calls of services have their answer (test_ros2_services.sh)",
             "failure": "a node of ROS 2 goes without a word; calls of services have their answer (test_ros2_services.sh)",
             "refusal": "who publishes by DDS gets no answer: the run says it on standard error",
             "alone": "a writer of DDS writes to all readers that are matched, and readers of ROS 2 are volatile but for those of "
                      "/tf_static: the library gives them nothing that was written before they came",
             "news": "a node lists the topics again", "rates": "a reader of ROS 2 has no rate",
             "demand": "no program sees when a run has noticed that a reader has gone", "two of one client": "a node has as many readers"}
    sensor_lag_ns = 10**7
    tells_garbage = False

    def __init__(self, place):
        Driver.__init__(self, place)
        self.domain = ros_domain.claim()
        self.options = ["--ros2", "--ros2-domain", str(self.domain)]
        self.node, self.caller = os.path.join(place, "gateway_dds"), os.path.join(place, "ros2_client")

    def missing(self, troupe):
        why = Driver.missing(self, troupe)
        if why:
            return why
        here, gateway = os.path.join(TESTS, "conform"), os.path.join(TESTS, "gateway")
        for words in (["idlc", "-l", "c", "-t", os.path.join(here, "gateway_dds.idl")],
                      ["cc", "-O0", "-I.", os.path.join(here, "gateway_dds.c"), "gateway_dds.c", "-o", self.node, "-lddsc"],
                      ["idlc", "-l", "c", "-t", os.path.join(gateway, "ros2_services.idl")],
                      ["cc", "-O0", "-I.", os.path.join(gateway, "ros2_client.c"), "ros2_services.c", "-o", self.caller, "-lddsc"]):
            try:
                done = subprocess.run(words, capture_output=True, text=True)
            except OSError as error:
                return "no node on Cyclone DDS: %s" % error
            if done.returncode:
                return "no node on Cyclone DDS: %s: %s" % (words[0], (done.stderr.splitlines() or [""])[0])
        return None

    def connect(self, run):
        run.await_said(r"ROS 2: domain (\d+)")
        return DdsClient(self)

    def forget(self, run):
        pass

    def hang(self, client):
        client.process.send_signal(signal.SIGSTOP)

    def go_on(self, client):
        client.process.send_signal(signal.SIGCONT)

    def packet(self, data):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            for port in (0, 1, 10, 11):
                out.sendto(data, ("239.255.0.1" if port < 10 else "127.0.0.1", 7400 + 250 * self.domain + port))

    @property
    def garbage(self):
        return [lambda c: self.packet(b""), lambda c: self.packet(os.urandom(1000)), lambda c: self.packet(b"RTPS\2\1" + os.urandom(500)),
                lambda c: self.packet(b"RTPS\2\1" + b"\xff" * 100)]


# --- mcap ------------------------------------------------------------------------------------------------------------

class Mcap(Driver):
    """A file: it is read when the run has ended."""
    name = "mcap"
    is_file = True
    lacks = {"reason": "equal runs give equal files, whatever ends them: the exit status has the reason",
             "clients": "a file has no clients: the run waits for it, and it asks for nothing"}
    options = ["--mcap", "run.mcap", "--topic", "*odom*", "--topic", "*clock*", "--topic", "/tf_static"]
    names = "gz"

    def read(self):
        """The messages of the file by topic."""
        out = {}
        try:
            for topic, at, body in mcap_reader.messages("run.mcap"):
                out.setdefault(topic, []).append((at, of_cdr(topic, body)))
        except mcap_reader.Damaged as why:
            raise Failed(str(why)) from None
        return out


class Bag(RosNames, Mcap):
    name = "bag"
    options = Mcap.options + ["--mcap-names", "ros"]


DRIVERS = {driver.name: driver for driver in (Rosbridge, Foxglove, View, Ws, Relay, Lockstep, Dds, Gz, Mcap, Bag)}
