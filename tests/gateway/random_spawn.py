#!/usr/bin/env python3
"""Acts as the robot software beside a robot client, as the test_random_spawn of the distributed simulator that the
specification describes: it calls the client's create service with random poses, and sends random velocities to the
robots, through the client's Foxglove port. Only Python's own modules.

usage: random_spawn.py PORT NAMESPACE ROBOTS SECONDS SEED [--no-scans]   --no-scans: lidars do not measure
       random_spawn.py --list PORT       only prints the topics that are offered within a second from the first
       random_spawn.py --ask PORT NAMESPACE   asks for one robot, and ends before it is there

It drives for SECONDS of simulated time after the last robot was created. It prints lines of a name and values:

driving          all robots are there
services, topics the names that are offered
refusal          what is said of a velocity that the run does not take
created          robots whose creation was confirmed
odometry, scans  messages of odometry, readings of lidars
stamps           whether stamps of odometry follow one another in steps of the topic's rate ("regular")
"""
import json
import random
import socket
import struct
import sys
import time

import web_socket

MODEL = """<?xml version='1.0'?><sdf version='1.9'><model name='{name}'><pose>{x} {y} 0.1 0 0 {yaw}</pose>
<link name='chassis'><pose>0 0 0.1 0 0 0</pose><inertial><mass>5</mass><inertia><ixx>0.05</ixx><iyy>0.05</iyy><izz>0.05</izz></inertia></inertial>
<collision name='c'><geometry><box><size>0.4 0.3 0.1</size></box></geometry></collision>
<visual name='v'><geometry><box><size>0.4 0.3 0.1</size></box></geometry></visual>
<sensor name='lidar' type='gpu_lidar'><pose>0.21 0 0.05 0 0 0</pose><update_rate>10</update_rate><topic>{name}/scan</topic>
<lidar><scan><horizontal><samples>19</samples><min_angle>-1.5</min_angle><max_angle>1.5</max_angle></horizontal></scan>
<range><min>0.01</min><max>8</max></range></lidar></sensor></link>
<link name='left'><pose>0 0.18 0.08 -1.5708 0 0</pose><inertial><mass>0.5</mass><inertia><ixx>0.002</ixx><iyy>0.002</iyy><izz>0.002</izz></inertia></inertial>
<collision name='c'><geometry><cylinder><radius>0.08</radius><length>0.04</length></cylinder></geometry></collision></link>
<link name='right'><pose>0 -0.18 0.08 -1.5708 0 0</pose><inertial><mass>0.5</mass><inertia><ixx>0.002</ixx><iyy>0.002</iyy><izz>0.002</izz></inertia></inertial>
<collision name='c'><geometry><cylinder><radius>0.08</radius><length>0.04</length></cylinder></geometry></collision></link>
<link name='caster'><pose>-0.15 0 0.04 0 0 0</pose><inertial><mass>0.2</mass><inertia><ixx>0.0002</ixx><iyy>0.0002</iyy><izz>0.0002</izz></inertia></inertial>
<collision name='c'><geometry><sphere><radius>0.04</radius></sphere></geometry></collision></link>
<joint name='left_joint' type='revolute'><parent>chassis</parent><child>left</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name='right_joint' type='revolute'><parent>chassis</parent><child>right</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name='caster_joint' type='ball'><parent>chassis</parent><child>caster</child></joint>
<plugin filename='gz-sim-diff-drive-system' name='gz::sim::systems::DiffDrive'><left_joint>left_joint</left_joint>
<right_joint>right_joint</right_joint><wheel_separation>0.36</wheel_separation><wheel_radius>0.08</wheel_radius>
<odom_publish_frequency>20</odom_publish_frequency></plugin></model></sdf>"""


class Foxglove(web_socket.WebSocket):
    """A client of the WebSocket protocol of Foxglove, as much of it as is needed here."""

    def __init__(self, port):
        for attempt in range(200):
            try:
                web_socket.WebSocket.__init__(self, port, "foxglove.websocket.v1", 20)
                break
            except OSError:
                if attempt == 199:
                    raise
                time.sleep(0.05)
        self.services, self.channels, self.calls, self.out = {}, {}, 0, 0
        self.on_data, self.on_reply, self.time_ns, self.status = None, {}, 0, ""

    def fill(self):
        try:
            web_socket.WebSocket.fill(self)
        except EOFError:
            raise SystemExit("the connection was closed") from None

    def send_json(self, value):
        self.send_frame(1, json.dumps(value).encode())

    def step(self):
        """Handles one frame."""
        kind, body = self.take_frame()
        if kind == 8:
            raise SystemExit("the connection was closed: %r" % body[2:])
        if kind == 9:
            self.send_frame(10, body)
        elif kind == 1:
            self.hear(json.loads(body))
        elif kind == 2:
            self.hear_binary(body)

    def hear(self, message):
        op = message.get("op")
        if op == "advertise":
            for channel in message["channels"]:
                self.channels[channel["topic"]] = channel
        elif op == "advertiseServices":
            for service in message["services"]:
                self.services[service["name"]] = service
        elif op == "unadvertise":
            gone = set(message["channelIds"])
            self.channels = {k: v for k, v in self.channels.items() if v["id"] not in gone}
        elif op == "status":
            self.status = message["message"]
        elif op == "serviceCallFailure":
            self.on_reply.pop(message["callId"])(None, message["message"])

    def hear_binary(self, body):
        if body[0] == 1 and self.on_data:
            subscription, stamp = struct.unpack("<IQ", body[1:13])
            self.on_data(subscription, stamp, body[13:])
        elif body[0] == 2:
            self.time_ns = struct.unpack("<Q", body[1:9])[0]
        elif body[0] == 3:
            service, call, length = struct.unpack("<III", body[1:13])
            self.on_reply.pop(call)(json.loads(body[13 + length:]), None)

    def call(self, name, request, on_reply):
        self.calls += 1
        self.on_reply[self.calls] = on_reply
        body = json.dumps(request).encode()
        self.send_frame(2, struct.pack("<BIII", 2, self.services[name]["id"], self.calls, 4) + b"json" + body)

    def advertise(self, topic, schema):
        self.out += 1
        self.send_json({"op": "advertise", "channels": [
            {"id": self.out, "topic": topic, "encoding": "json", "schemaName": schema}]})
        return self.out

    def publish(self, channel, value):
        self.send_frame(2, struct.pack("<BI", 1, channel) + json.dumps(value).encode())


def list_topics(port):
    fox = Foxglove(port)
    while not fox.channels:
        fox.step()
    begin = time.monotonic()
    fox.socket.settimeout(1)
    try:
        while time.monotonic() < begin + 1:
            fox.step()
    except socket.timeout:
        pass
    print("topics", *sorted(fox.channels))


def ask(port, namespace):
    fox = Foxglove(port)
    create = "/%s/world/large/create" % namespace
    while create not in fox.services:
        fox.step()
    fox.call(create, {"sdf": MODEL.format(name="asked_for", x=0, y=0, yaw=0)}, None)
    print("asked")
    time.sleep(0.3)  # for the client to pass it on


def main():
    if sys.argv[1] == "--list":
        list_topics(int(sys.argv[2]))
        return
    if sys.argv[1] == "--ask":
        ask(int(sys.argv[2]), sys.argv[3])
        return
    port, namespace, robots, seconds, seed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    chance = random.Random("%s %s" % (namespace, seed))
    fox = Foxglove(port)
    while not fox.services or not fox.channels:
        fox.step()
    create = next(name for name in fox.services if name.startswith("/%s/world/" % namespace) and name.endswith("/create"))
    names = ["%s_robot%d" % (namespace, i) for i in range(robots)]
    result = {"created": 0, "failed": "", "odometry": 0, "scans": 0}
    last, steps = {}, set()

    def on_reply(reply, failure):
        if reply and reply.get("data"):
            result["created"] += 1
        else:
            result["failed"] = failure or "refused"

    for name in names:
        x, y = chance.uniform(-8, 8), chance.uniform(-8, 8)
        fox.call(create, {"sdf": MODEL.format(name=name, x=x, y=y, yaw=chance.uniform(-3, 3)), "name": name}, on_reply)
        while fox.on_reply:
            fox.step()
        if result["failed"]:
            raise SystemExit("%s: %s" % (name, result["failed"]))

    odometry = {"/%s/model/%s/odometry" % (namespace, name): i + 1 for i, name in enumerate(names)}
    scans = {"/%s/%s/scan" % (namespace, name): robots + i + 1 for i, name in enumerate(names)}
    if sys.argv[6:] == ["--no-scans"]:
        scans = {}
    while not all(topic in fox.channels for topic in list(odometry) + list(scans)):
        fox.step()

    def on_data(subscription, stamp, _body):
        if subscription > robots:
            result["scans"] += 1
            return
        result["odometry"] += 1
        if last.get(subscription):  # the first message comes at once, between two that are due
            steps.add(stamp - last[subscription])
        last[subscription] = stamp if subscription in last else 0

    fox.on_data = on_data
    fox.send_json({"op": "subscribe", "subscriptions": [
        {"id": n, "channelId": fox.channels[topic]["id"]} for topic, n in list(odometry.items()) + list(scans.items())]})
    channels = [fox.advertise("/%s/model/%s/cmd_vel" % (namespace, name), "gz.msgs.Twist") for name in names]
    print("driving", flush=True)
    begin, told = fox.time_ns, 0
    while fox.time_ns < begin + seconds * 1e9:
        if fox.time_ns > told:
            told = fox.time_ns + 200000000
            for channel in channels:
                fox.publish(channel, {"linear": {"x": chance.uniform(-1, 1)}, "angular": {"z": chance.uniform(-1, 1)}})
        fox.step()
    fox.publish(channels[0], {"linear": {"x": 1e12}})
    fox.socket.settimeout(20)
    while "cmd_vel" not in fox.status:
        fox.step()
    print("refusal", fox.status)
    print("services", *sorted(fox.services))
    print("topics", *sorted(fox.channels))
    print("created", result["created"])
    print("odometry", result["odometry"])
    print("scans", result["scans"])
    print("stamps", "regular" if steps == {50000000} else "irregular %s" % sorted(steps))


main()
