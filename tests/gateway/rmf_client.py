#!/usr/bin/env python3
"""A client of Open-RMF's topics through rosbridge, as door, lift and fleet adapters use them. Only Python's own modules.

usage: rmf_client.py PORT TEST       the functions below whose names begin with test_

It prints a line for each check that fails, and the totals.
"""
import sys

from rosbridge_client import Client

CLOSED, MOVING, OPEN = 0, 1, 2


class Rmf:
    def __init__(self, port):
        self.client, self.passed, self.failed, self.last = Client(port), 0, 0, {}

    def check(self, good, what):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print("FAILED:", what, flush=True)

    def listen(self, topic, kind):
        self.client.send({"op": "subscribe", "topic": topic, "type": kind})

    def offer(self, topic, kind):
        self.client.send({"op": "advertise", "topic": topic, "type": kind})

    def say(self, topic, message):
        self.client.send({"op": "publish", "topic": topic, "msg": message})

    def hear(self):
        """The topic and the content of the next message."""
        while True:
            operation = self.client.take()
            if not operation:
                raise SystemExit("the connection was closed: %s" % self.client.reason)
            if operation["op"] == "publish":
                return operation["topic"], operation["msg"]
            if operation.get("level") in ("error", "warning"):
                self.last["status"] = operation["msg"]

    def until(self, what, good, messages=2000):
        """Hears until good(topic, message), which says what is waited for. All that came is in the result."""
        heard = []
        for _ in range(messages):
            heard.append(self.hear())
            if good(*heard[-1]):
                self.check(True, what)
                return heard
        self.check(False, "%s; the last message: %s" % (what, heard[-1]))
        return heard


def seconds(stamp):
    return stamp["sec"] + stamp["nanosec"] * 1e-9


def test_doors(rmf):
    rmf.listen("/door_states", "rmf_door_msgs/DoorState")
    rmf.offer("/door_requests", "rmf_door_msgs/DoorRequest")

    def ask(door, mode):
        rmf.say("/door_requests", {"request_time": {"sec": 0, "nanosec": 0}, "requester_id": "test", "door_name": door,
                                   "requested_mode": {"value": mode}})

    def is_so(door, mode):
        return lambda topic, state: state["door_name"] == door and state["current_mode"]["value"] == mode

    for door in "main_door", "swing", "new_door":
        rmf.until("%s is closed at first" % door, is_so(door, CLOSED))
    ask("main_door", OPEN)
    begun = rmf.until("it begins to open", is_so("main_door", MOVING))[-1][1]
    heard = rmf.until("it is open", is_so("main_door", OPEN))
    took = seconds(heard[-1][1]["door_time"]) - seconds(begun["door_time"])
    rmf.check(2.5 < took < 12, "it took %.1f s" % took)
    others = [state for _, state in heard if state["door_name"] != "main_door"]
    rmf.check(others and all(state["current_mode"]["value"] == CLOSED for state in others), "only this one: %s" % others)
    times = [seconds(state["door_time"]) for _, state in heard if state["door_name"] == "swing"]
    rmf.check(all(abs(b - a - 1) < 0.01 for a, b in zip(times, times[1:])), "once a second: %s" % times)
    ask("swing", OPEN)
    ask("new_door", OPEN)
    rmf.until("a door with one joint opens", is_so("swing", OPEN))
    rmf.until("so does one of the newer form", is_so("new_door", OPEN))
    ask("main_door", CLOSED)
    rmf.until("it closes", is_so("main_door", CLOSED))
    ask("nobody", OPEN)
    ask("swing", CLOSED)
    rmf.until("after a request for another door, it obeys", is_so("swing", CLOSED))


def main():
    rmf = Rmf(sys.argv[1])
    globals()["test_" + sys.argv[2]](rmf)
    print("%d passed, %d failed" % (rmf.passed, rmf.failed))
    sys.exit(rmf.failed != 0)


if __name__ == "__main__":
    main()
