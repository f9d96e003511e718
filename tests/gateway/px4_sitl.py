#!/usr/bin/env python3
"""Stands in for PX4's SITL at the simulator's interface, MAVLink 2 over TCP: connects, answers each HIL_SENSOR by
HIL_ACTUATOR_CONTROLS with its time, and flies a quadcopter to a place and back. Written from MAVLink's and PX4's
descriptions; nothing is troupe's.

usage: px4_sitl.py PORT SENSORS [idle|copter|steady] [OPTION]...
  --host HOST      default 127.0.0.1
  --fleet N        so many vehicles at PORT, PORT + 1, ...
  --turn N         flies back from the N-th HIL_SENSOR on
  --boots N        as PX4 does: sends no controls before N HIL_SENSOR have come; else it begins with controls
  --disarmed       its controls say that it is not armed
  --free           its controls say that they are not in lockstep
  --rubbish        sends bad checksums, half frames, late answers and other rubbish between its messages

Prints what it has last had, and the digest of all that it has had, as JSON, a line for each vehicle; status 1: the
connection was lost, or nothing came for two minutes.
"""
import argparse
import hashlib
import json
import math
import socket
import struct
import sys

EXTRA = {0: 50, 2: 137, 65: 118, 76: 152, 77: 143, 93: 47, 107: 108, 113: 124, 115: 4, 132: 85}
LAYOUT = {0: "<IBBBBB", 2: "<QI", 65: "<I18HBB", 77: "<HB", 107: "<Q13fI", 113: "<QiiiHHHhhhHBB", 115: "<Q4f3fiiihhhHHhhh",
          132: "<IHHHBBBB"}
MASS, THRUST, ARMS, MOMENT = 1.52, 5.84e-06, (0.21, 0.13), 0.06  # of copter() in test_px4.sh
INERTIA = (0.0175, 0.0125, 0.025)
EARTH_M = 6378137.0


def crc(data):
    value = 0xFFFF
    for byte in data:
        byte ^= value & 0xFF
        byte = (byte ^ (byte << 4)) & 0xFF
        value = ((value >> 8) ^ (byte << 8) ^ (byte << 3) ^ (byte >> 4)) & 0xFFFF
    return value


def frame(number, payload, sequence, version=2):
    if version == 1:
        head = bytes([len(payload), sequence & 255, 1, 1, number])
        return b"\xfe" + head + payload + struct.pack("<H", crc(head + payload + bytes([EXTRA[number]])))
    payload = payload.rstrip(b"\0") or b"\0"
    head = bytes([len(payload), 0, 0, sequence & 255, 1, 1]) + number.to_bytes(3, "little")
    return b"\xfd" + head + payload + struct.pack("<H", crc(head + payload + bytes([EXTRA[number]])))


def angles(q):
    w, x, y, z = q
    return (math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), math.asin(max(-1, min(1, 2 * (w * y - z * x)))),
            math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def apart(a, b):
    """m; places are in 1e-7 degrees and mm."""
    return math.dist((0, 0, 0), (math.radians((a[0] - b[0]) / 1e7) * EARTH_M, (a[2] - b[2]) / 1e3,
                                 math.radians((a[1] - b[1]) / 1e7) * EARTH_M * math.cos(math.radians(a[0] / 1e7))))


class Vehicle:
    def __init__(self, port, options):
        self.options, self.port, self.sequence, self.buffer = options, port, 0, b""
        self.last, self.count, self.home, self.values = {}, 0, None, [0.0] * 16
        self.all = hashlib.sha256()
        if options.kind == "steady":
            self.values[:4] = [0.62, 0.6, 0.63, 0.59]  # no function that another library rounds otherwise
        self.truths, self.lags, self.errors, self.offs, self.rcs = {}, [], [], [], []
        self.socket = socket.create_connection((options.host, port), 120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(120)
        if options.boots:
            self.send(0, struct.pack("<IBBBBB", 0, 2, 12, 0, 0, 3))
            self.send(76, struct.pack("<7fHBBB", 115, 8000, 0, 0, 0, 0, 0, 511, 1, 200, 0))
            self.send(76, struct.pack("<7fHBBB", 1, 0, 0, 0, 0, 0, 0, 400, 1, 200, 0))
        else:
            self.controls(0)

    def send(self, number, payload):
        data = frame(number, payload, self.sequence)
        if self.options.rubbish:
            bad = bytearray(data)
            bad[-1] ^= 1 + self.sequence % 200
            data = bytes(bad) + data[:len(data) // 2] + b"\xfd\xff\x00\xfe\x03" + bytes(range(256)) + \
                frame(0, bytes(9), self.sequence, 1) + bytes(300) + data + data[:7]
        self.sequence += 1
        self.socket.sendall(data)

    def controls(self, time_us):
        if self.options.rubbish and time_us > 4000:
            self.send(93, struct.pack("<QQ16fB", time_us - 4000, 1, *[1.0] * 16, 128))
        self.send(93, struct.pack("<QQ16fB", time_us, 0 if self.options.free else 1, *self.values,
                                  128 if time_us and not self.options.disarmed else 0))

    def message(self):
        """The next message; every byte must belong to a frame."""
        while True:
            if len(self.buffer) >= 12:
                length = self.buffer[1] + 12
                assert self.buffer[0] == 0xFD and self.buffer[2] == 0, self.buffer[:12]
                if len(self.buffer) >= length:
                    data, self.buffer = self.buffer[:length], self.buffer[length:]
                    self.all.update(data)
                    number = int.from_bytes(data[7:10], "little")
                    check = crc(data[1:-2] + bytes([EXTRA[number]]))
                    assert check == struct.unpack("<H", data[-2:])[0], (number, data)
                    whole = data[10:-2].ljust(struct.calcsize(LAYOUT[number]), b"\0")
                    return number, struct.unpack(LAYOUT[number], whole)
            more = self.socket.recv(65536)
            if not more:
                raise SystemExit("port %d: the connection was lost after %d HIL_SENSOR" % (self.port, self.count))
            self.buffer += more

    def note(self, number, values):
        """What has come beside HIL_SENSOR: when, and how it fits to the truth at its time and now."""
        now = self.last[107][0]
        if number == 65:
            self.rcs.append(now)
        elif values[0] in self.truths and now in self.truths:
            self.lags.append(now - values[0])
            self.errors.append(apart(values[1:4], self.truths[values[0]]))
            self.offs.append(apart(values[1:4], self.truths[now]))

    def step(self):
        came = []
        while True:
            number, values = self.message()
            self.last[number] = values
            if number == 115:
                self.truths[values[0]] = values[8:11]
            if number == 107:
                break
            if number in (65, 113):
                came.append((number, values))
        for message in came:
            self.note(*message)
        self.count += 1
        if self.options.kind == "copter" and 115 in self.last:
            self.fly(values[0])
        if self.count > self.options.boots:
            self.controls(values[0])

    def place(self):
        """North, east, down of where it was first, m."""
        truth = self.last[115]
        here = truth[8] / 1e7, truth[9] / 1e7, truth[10] / 1e3
        self.home = self.home or here
        return (math.radians(here[0] - self.home[0]) * EARTH_M,
                math.radians(here[1] - self.home[1]) * EARTH_M * math.cos(math.radians(here[0])), self.home[2] - here[2])

    def fly(self, time_us):
        """To 3 m north, 1 m east, 2 m up; at last back to where it was, 0.5 m up."""
        truth, at = self.last[115], self.place()
        half = self.count > self.options.turn
        goal = (0, 0, -0.5) if half else (3, 1, -2)
        if not half or "there" not in self.__dict__:
            self.there = at
        roll, pitch, yaw = angles(truth[1:5])
        speed = [v / 100 for v in truth[11:14]]
        want = [max(-2, min(2, 0.8 * (g - p) - 1.4 * v)) for g, p, v in zip(goal, at, speed)]
        ahead = want[0] * math.cos(yaw) + want[1] * math.sin(yaw)
        right = -want[0] * math.sin(yaw) + want[1] * math.cos(yaw)
        errors = right / 9.8 - roll, -ahead / 9.8 - pitch, -math.atan2(math.sin(yaw), math.cos(yaw))
        turn = [i * (40 * e - 12 * g) for i, e, g in zip(INERTIA, errors, truth[5:8])]
        lift = MASS * (9.8 - want[2]) / 4
        for i, (side, front, spin) in enumerate(((1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1))):
            force = lift - side * turn[0] / (4 * ARMS[0]) + front * turn[1] / (4 * ARMS[1]) + spin * turn[2] / (4 * MOMENT)
            self.values[i] = min(1, max(0, (math.sqrt(max(force, 0) / THRUST) - 100) / 1000))

    def report(self):
        names = {107: "sensor", 113: "gps", 115: "truth", 132: "distance", 0: "heartbeat", 2: "time", 77: "ack", 65: "rc"}
        out = {names[n]: v for n, v in self.last.items()}
        out["rcs"], out["digest"] = self.rcs, self.all.hexdigest()
        if self.lags:
            out["late"] = {"lags": sorted(set(self.lags)), "error": max(self.errors), "off": max(self.offs)}
        if self.options.kind == "copter":
            out["there"], out["back"] = self.there, self.place()
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("sensors", type=int)
    parser.add_argument("kind", nargs="?", default="idle")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--fleet", type=int, default=1)
    parser.add_argument("--turn", type=int, default=2000)
    parser.add_argument("--boots", type=int, default=0)
    parser.add_argument("--disarmed", action="store_true")
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--rubbish", action="store_true")
    options = parser.parse_args()
    vehicles = [Vehicle(options.port + i, options) for i in range(options.fleet)]
    for _ in range(options.sensors):
        for vehicle in vehicles:
            vehicle.step()
    for vehicle in vehicles:
        print(json.dumps(vehicle.report()))


try:
    main()
except (OSError, AssertionError) as error:
    sys.exit("%s: %s" % (type(error).__name__, error))
