#!/usr/bin/env python3
"""Stands in for ArduPilot's SITL at the JSON interface: sends servo outputs, waits for the state, sends them again when
none comes, and flies or drives to a place. Written from ArduPilot's description of the interface; nothing is troupe's.

usage: sitl.py PORT FRAMES [copter|rover|steady|idle] [--drop N] [--channels 32] [--fleet N]
  --drop N    forgets every N-th answer, as if it were lost: the same frame is sent again
  --fleet N   so many vehicles at PORT, PORT + 1, ...

Prints the last state of each, with the digest of all states, as JSON; status 1: no answer came for two minutes.
"""
import argparse
import hashlib
import json
import math
import socket
import struct
import sys

MASS, THRUST, ARMS, INERTIA = 1.6, 2.166e-5, (0.21, 0.13), (0.01, 0.015, 0.02)  # of copter() in test_ardupilot.sh
GOAL = (3.0, 1.0, -2.0)  # north, east, down


def angles(q):
    w, x, y, z = q
    return (math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), math.asin(max(-1, min(1, 2 * (w * y - z * x)))),
            math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def copter(state):
    """Pulse widths of four rotors, in ArduPilot's order: front right, rear left, front left, rear right."""
    roll, pitch, yaw = angles(state["quaternion"])
    gyro, at, speed = state["imu"]["gyro"], state["position"], state["velocity"]
    want = [max(-2, min(2, 0.8 * (goal - p) - 1.4 * v)) for goal, p, v in zip(GOAL, at, speed)]
    ahead = want[0] * math.cos(yaw) + want[1] * math.sin(yaw)
    right = -want[0] * math.sin(yaw) + want[1] * math.cos(yaw)
    errors = right / 9.8 - roll, -ahead / 9.8 - pitch, -math.atan2(math.sin(yaw), math.cos(yaw))
    turn = [i * (50 * e - 14 * g) for i, e, g in zip(INERTIA, errors, gyro)]
    lift = MASS * (9.8 - want[2]) / 4
    out = []
    for side, front, spin in (1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1):
        force = lift - side * turn[0] / (4 * ARMS[0]) + front * turn[1] / (4 * ARMS[1]) + spin * turn[2] * 2
        out.append(1100 + 800 * min(1, math.sqrt(max(force, 0) / THRUST) / 838))
    return out


def rover(state):
    """Pulse widths of the left and the right wheel."""
    yaw = angles(state["quaternion"])[2]
    north, east = GOAL[0] - state["position"][0], GOAL[1] - state["position"][1]
    error = math.atan2(east, north) - yaw
    error = math.atan2(math.sin(error), math.cos(error))
    ahead = min(1, math.hypot(north, east)) * max(0, math.cos(error))
    return [1500 + 400 * max(-1, min(1, ahead + error)), 1500 + 400 * max(-1, min(1, ahead - error))]


class Vehicle:
    def __init__(self, port, options):
        self.kind, self.drop, self.port = options.kind, options.drop, port
        self.magic = 18458 if options.channels == 16 else 29569
        self.outputs = [1100 if self.kind == "copter" else 1500] * options.channels
        self.state, self.all = None, hashlib.sha256()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(0.2)

    def send(self, frame):
        try:
            self.socket.send(struct.pack("<HHI%dH" % len(self.outputs), self.magic, 400, frame, *self.outputs))
        except ConnectionRefusedError:
            pass

    def receive(self):
        answer = self.socket.recv(65536)
        assert answer.startswith(b"\n") and answer.endswith(b"\n"), answer
        return json.loads(answer)

    def answer(self, frame):
        """The state that answers the frame, which is sent again as long as none comes. A frame that was sent twice, because
        its answer was late, has two answers: the second comes when the next frame waits for its own."""
        for attempt in range(600):
            try:
                state = self.receive()
                while self.state and state["timestamp"] <= self.state["timestamp"]:
                    state = self.receive()
                if not self.drop or frame % self.drop or attempt:
                    break
            except (socket.timeout, ConnectionRefusedError):
                pass
            self.send(frame)
        else:
            raise SystemExit("port %d, frame %d: no answer" % (self.port, frame))
        self.state = state
        self.all.update(json.dumps(state).encode())
        fly = {"copter": copter, "rover": rover, "steady": lambda state: [1720, 1610], "idle": lambda state: []}[self.kind]
        for i, us in enumerate(fly(self.state)):
            self.outputs[i] = round(us)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("frames", type=int)
    parser.add_argument("kind", nargs="?", default="idle")
    parser.add_argument("--drop", type=int, default=0)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--fleet", type=int, default=1)
    options = parser.parse_args()
    vehicles = [Vehicle(options.port + i, options) for i in range(options.fleet)]
    for frame in range(1, options.frames + 1):
        for vehicle in vehicles:
            vehicle.send(frame)
        for vehicle in vehicles:
            vehicle.answer(frame)
    for vehicle in vehicles:
        print(json.dumps(dict(vehicle.state, digest=vehicle.all.hexdigest())))


main()
