#!/usr/bin/env python3
"""A client of Open-RMF's topics through rosbridge, as door, lift and fleet adapters use them. Only Python's own modules.

usage: rmf_client.py PORT TEST       the functions below whose names begin with test_

A client may lose messages when the machine is busy, so nothing counts them.

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
    rmf.check(took < 6, "it took %.1f s" % took)
    others = [state for _, state in heard if state["door_name"] != "main_door"]
    rmf.check(all(state["current_mode"]["value"] == CLOSED for state in others), "only this one: %s" % others)
    times = [seconds(state["door_time"]) for _, state in heard if state["door_name"] == "swing"]
    rmf.check(all(at == int(at) for at in times), "at whole seconds: %s" % times)
    ask("swing", OPEN)
    ask("new_door", OPEN)
    rmf.until("a door with one joint opens", is_so("swing", OPEN))
    rmf.until("so does one of the newer form", is_so("new_door", OPEN))
    ask("main_door", CLOSED)
    rmf.until("it closes", is_so("main_door", CLOSED))
    ask("nobody", OPEN)
    ask("swing", CLOSED)
    rmf.until("after a request for another door, it obeys", is_so("swing", CLOSED))


def test_lifts(rmf):
    rmf.listen("/lift_states", "rmf_lift_msgs/LiftState")
    rmf.listen("/door_states", "rmf_door_msgs/DoorState")
    rmf.listen("/box/odom", "nav_msgs/Odometry")
    rmf.offer("/lift_requests", "rmf_lift_msgs/LiftRequest")
    doors, box = {}, {}

    def ask(floor, door, session="s1", kind=1):
        rmf.say("/lift_requests", {"lift_name": "Lift1", "request_time": {"sec": 0, "nanosec": 0}, "session_id": session,
                                   "request_type": kind, "destination_floor": floor, "door_state": door})

    def good(floor, door, motion=0, session="s1"):
        def check(topic, message):
            if topic == "/door_states":
                doors[message["door_name"]] = message["current_mode"]["value"]
            if topic == "/box/odom":
                box.update(message["pose"]["pose"]["position"])
            return topic == "/lift_states" and message["current_floor"] == floor and message["door_state"] == door and \
                message["motion_state"] == motion and message["session_id"] == session
        return check

    heard = rmf.until("it waits at its first floor", good("L1", CLOSED, session=""))
    first = [m for t, m in heard if t == "/lift_states"][-1]
    rmf.check(first["lift_name"] == "Lift1" and first["available_floors"] == ["L1", "L2"] and first["current_mode"] == 2, first)
    ask("L1", OPEN)
    rmf.until("its doors open", good("L1", OPEN), 20000)
    ask("L2", OPEN)
    heard = rmf.until("it goes up", good("L1", CLOSED, 1), 20000)
    rmf.check([m for t, m in heard if t == "/lift_states"][-1]["destination_floor"] == "L2", "its destination is told")
    ask("L1", CLOSED, "s2")
    heard = rmf.until("it is there, and open, whatever else was asked meanwhile", good("L2", OPEN), 20000)
    moving = [m for t, m in heard if t == "/lift_states" and m["motion_state"]]
    rmf.check(all(m["door_state"] == CLOSED for m in moving), "with closed doors")
    rmf.until("a box in the cabin is carried", lambda t, m: good("L2", OPEN)(t, m) and abs(box["z"] - 3.2) < 0.1, 20000)
    rmf.until("the shaft's door of this floor is open", lambda t, m: good("L2", OPEN)(t, m) and
              doors.get("shaft_L2") == OPEN and doors.get("shaft_L1") == CLOSED, 20000)
    ask("L1", CLOSED, "s1", 0)
    rmf.until("the end of the session takes it back", good("L1", CLOSED, session=""), 20000)
    ask("L7", OPEN)
    ask("L1", OPEN)
    rmf.until("a floor that is not there is no request", good("L1", OPEN), 20000)


IDLE, CHARGING, MOVING, PAUSED, WAITING, DOCKING, ERROR = 0, 1, 2, 3, 4, 7, 8


def place(x, y, yaw, index=0, t=0.0, limit=0.0, level="L1"):
    return {"t": {"sec": int(t), "nanosec": int(t % 1 * 1e9)}, "x": x, "y": y, "yaw": yaw, "index": index, "level_name": level,
            "obey_approach_speed_limit": limit > 0, "approach_speed_limit": limit}


def test_slotcars(rmf):
    rmf.listen("/robot_state", "rmf_fleet_msgs/RobotState")
    for what in "path", "mode", "pause":
        rmf.offer("/robot_%s_requests" % what, "rmf_fleet_msgs/%sRequest" % what.capitalize())

    def send(robot, task, *path):
        rmf.say("/robot_path_requests", {"fleet_name": "f", "robot_name": robot, "task_id": task, "path": path})

    def pause(kind, request, checkpoint=0):
        rmf.say("/robot_pause_requests", {"fleet_name": "f", "robot_name": "car", "mode_request_id": request, "type": kind,
                                          "at_checkpoint": checkpoint})

    def state(robot, good):
        return lambda topic, message: message["name"] == robot and good(message)

    def at(x, y, yaw):
        def good(message):
            here = message["location"]
            turned = (here["yaw"] - yaw + 3.14159265) % 6.2831853 - 3.14159265
            return abs(here["x"] - x) < 0.05 and abs(here["y"] - y) < 0.05 and abs(turned) < 0.03
        return good

    def mode(*modes):
        return lambda message: message["mode"]["mode"] in modes

    first = rmf.until("it charges where it stands", state("car", mode(CHARGING)))[-1][1]
    rmf.check(first["battery_percent"] == 100 and first["location"]["level_name"] == "L1", first)
    rmf.until("the other one does not", state("other", mode(IDLE)))
    send("car", "one", place(0, 0, 0), place(2, 0, 0, 1, limit=0.3), place(2, 2, 1.5708, 2, level="L2"), place(2, 2, 0, 3, level="L2"))
    heard = rmf.until("it has turned at the end of its path", state("car", lambda m: not m["path"] and at(2, 2, 0)(m)))
    mine = [m for _, m in heard if m["name"] == "car" and m["task_id"] == "one"]
    rmf.check(any(mode(MOVING)(m) for m in mine), "it was moving")
    lefts = [len(m["path"]) for m in mine]
    rmf.check(lefts == sorted(lefts, reverse=True) and {3, 2} <= set(lefts), "places that were left: %s" % lefts)
    rmf.check([p["index"] for p in mine[0]["path"]] == [1, 2, 3] and mine[0]["path"][1]["level_name"] == "L2" and
              mine[0]["path"][0]["obey_approach_speed_limit"], mine[0]["path"])
    rmf.check(max(abs(m["location"]["y"]) for m in mine if len(m["path"]) == 3) < 0.05, "straight on the first way")
    speeds = [(b["location"]["x"] - a["location"]["x"]) / (seconds(b["location"]["t"]) - seconds(a["location"]["t"]))
              for a, b in zip(mine, mine[1:]) if len(b["path"]) == 3]
    rmf.check(0.25 < max(speeds) < 0.32, "its limit was 0.3 m/s: %s" % max(speeds))
    rmf.check(all(abs(seconds(b["location"]["t"]) - seconds(a["location"]["t"]) - (b["seq"] - a["seq"]) / 2) < 0.02
                  for a, b in zip(mine, mine[1:])), "two states a second, each with the next number")
    rmf.check(mine[-1]["battery_percent"] < 100 and mine[-1]["location"]["level_name"] == "L2", mine[-1])

    send("car", "two", place(2, 2, 0), place(0, 2, 0, 1))
    heard = rmf.until("it drives back", state("car", lambda m: not m["path"] and at(0, 2, 0)(m)))
    rmf.check(all(abs(m["location"]["yaw"]) < 0.05 for _, m in heard if m["name"] == "car"), "backwards, without turning")
    now = seconds(heard[-1][1]["location"]["t"])
    send("car", "three", place(0, 2, 0), place(1, 2, 0, 1, t=now + 15), place(2, 2, 0, 2))
    heard = rmf.until("it stays until its time has come", state("car", mode(PAUSED)))
    heard = rmf.until("and goes on", state("car", lambda m: m["location"]["x"] > 1.1))
    rmf.check(seconds(heard[-1][1]["location"]["t"]) > now + 15, "not before")
    pause(0, 7)
    heard = rmf.until("it pauses", state("car", lambda m: mode(PAUSED)(m) and m["mode"]["mode_request_id"] == 7))
    stood = heard[-1][1]["location"]["x"]
    for _ in range(6):
        heard = rmf.until("a state", state("car", lambda m: True))
    rmf.check(heard[-1][1]["location"]["x"] - stood < 0.6 and at(2, 2, 0)(heard[-1][1]) is False, "it stands")
    pause(2, 8)
    rmf.until("it goes on to the end", state("car", lambda m: not m["path"] and at(2, 2, 0)(m)))
    send("car", "four", place(9, 9, 0), place(1, 2, 0, 1))
    rmf.until("a path that begins elsewhere is an error", state("car", mode(ERROR)))
    rmf.say("/robot_mode_requests", {"fleet_name": "f", "robot_name": "other", "task_id": "", "parameters": [],
                                     "mode": {"mode": DOCKING, "mode_request_id": 5, "performing_action": ""}})
    rmf.until("a mode is taken", state("other", lambda m: mode(DOCKING)(m) and m["mode"]["mode_request_id"] == 5))
    send("other", "five", place(6, 2, 3.14159), place(3.5, 2, 3.14159, 1), place(0, 2, 3.14159, 2))
    heard = rmf.until("it waits before another robot", state("other", mode(WAITING)))
    rmf.check(heard[-1][1]["location"]["x"] > 2.5, heard[-1][1]["location"])
    send("car", "six", place(2, 2, 0), place(2, 0, -1.5708, 1), place(0, 0, 0, 2))
    rmf.until("the first one makes way, and charges", state("car", lambda m: mode(CHARGING)(m) and at(0, 0, 0)(m)))
    rmf.until("and the other one comes through", state("other", lambda m: not m["path"] and at(0, 2, 3.14159)(m)))


def test_charging(rmf):
    """Until 40 s nothing drains and nothing charges."""
    rmf.listen("/robot_state", "rmf_fleet_msgs/RobotState")
    heard = rmf.until("it charges when that is switched on", lambda t, m: m["name"] == "car" and m["mode"]["mode"] == CHARGING)
    rmf.check(40 <= seconds(heard[-1][1]["location"]["t"]) < 42, heard[-1])
    heard = rmf.until("the other one drains then", lambda t, m: m["name"] == "other" and m["battery_percent"] < 100)
    rmf.check(40 + 21 < seconds(heard[-1][1]["location"]["t"]) < 40 + 23, heard[-1]) # 1 % of 12 Wh with 20 W


def test_tractor(rmf):
    """Lookahead 2 m, radius 1.5 m."""
    rmf.listen("/robot_state", "rmf_fleet_msgs/RobotState")
    rmf.offer("/robot_path_requests", "rmf_fleet_msgs/PathRequest")
    rmf.until("it is there", lambda t, m: m["mode"]["mode"] == IDLE)
    rmf.say("/robot_path_requests", {"fleet_name": "f", "robot_name": "tractor", "task_id": "t", "path": [
        place(-6, 0, 0), place(8, 0, 0, 1), place(8, 8, 1.5708, 2, limit=0.5)]})
    heard = rmf.until("it is at the end", lambda t, m: m["mode"]["mode"] == IDLE and not m["path"] and m["task_id"] == "t")
    mine = [m["location"] for _, m in heard if m["mode"]["mode"] == MOVING]
    turns = [((b["yaw"] - a["yaw"]), ((b["x"] - a["x"]) ** 2 + (b["y"] - a["y"]) ** 2) ** 0.5) for a, b in zip(mine, mine[1:])]
    rmf.check(max(turn for turn, _ in turns) > 0.1 and all(abs(turn) <= way / 1.5 * 1.1 + 0.01 for turn, way in turns),
              "no tighter than its radius: %s" % turns)
    last = heard[-1][1]["location"]
    rmf.check(abs(last["x"] - 8) < 0.5 and 7 < last["y"] < 8.3 and abs(last["yaw"] - 1.5708) < 0.3, last)
    rmf.check(min(at["y"] for at in mine) > -0.1 and max(at["x"] for at in mine) < 9, "near its path")
    speeds = [(b["y"] - a["y"]) / (seconds(b["t"]) - seconds(a["t"])) for a, b in zip(mine, mine[1:]) if a["y"] > 3]
    rmf.check(0.4 < max(speeds) < 0.51, "its limit is 0.5 m/s: %s" % max(speeds))


ACKNOWLEDGED, SUCCESS, FAILED = 0, 1, 2
BUSY = 1


def test_workcells(rmf):
    for kind in "dispenser", "ingestor":
        rmf.listen("/%s_states" % kind, "rmf_%s_msgs/%sState" % (kind, kind.capitalize()))
        rmf.listen("/%s_results" % kind, "rmf_%s_msgs/%sResult" % (kind, kind.capitalize()))
        rmf.offer("/%s_requests" % kind, "rmf_%s_msgs/%sRequest" % (kind, kind.capitalize()))
    rmf.listen("/robot_state", "rmf_fleet_msgs/RobotState")
    rmf.listen("/coke/odom", "nav_msgs/Odometry")
    rmf.offer("/fleet_states", "rmf_fleet_msgs/FleetState")
    rmf.offer("/robot_path_requests", "rmf_fleet_msgs/PathRequest")
    robots, coke = {}, {}

    def tell_fleet(*names):
        rmf.say("/fleet_states", {"name": "tiny", "robots": [robots[name] for name in names]})

    def ask(kind, target, request, fleet="tiny"):
        rmf.say("/%s_requests" % kind, {"time": {"sec": 0, "nanosec": 0}, "request_guid": request, "target_guid": target,
                                        "transporter_type": fleet, "items": [{"type_guid": "coke", "quantity": 1,
                                                                             "compartment_name": ""}]})

    def until(what, good):
        def check(topic, message):
            if topic == "/robot_state":
                robots[message["name"]] = message
            if topic == "/coke/odom":
                coke.update(message["pose"]["pose"]["position"])
            return good(topic, message)
        return rmf.until(what, check, 20000)

    def result(kind, request, status, source="pantry"):
        return lambda topic, m: topic == "/%s_results" % kind and m["request_guid"] == request and \
            m["status"] == status and m["source_guid"] == source

    def coke_at(x, y, z):
        return lambda topic, m: coke and abs(coke["x"] - x) < 0.1 and abs(coke["y"] - y) < 0.1 and abs(coke["z"] - z) < 0.02

    def drive(task, *xs):
        rmf.say("/robot_path_requests", {"fleet_name": "tiny", "robot_name": "car", "task_id": task,
                                         "path": [place(x, 0, 0, i) for i, x in enumerate(xs)]})

    heard = until("a dispenser tells its state", lambda t, m: t == "/dispenser_states" and m["guid"] == "pantry")
    rmf.check(heard[-1][1]["mode"] == IDLE and heard[-1][1]["request_guid_queue"] == [], heard[-1])
    until("so does an ingestor", lambda t, m: t == "/ingestor_states" and m["guid"] == "hardware")
    until("there are robots", lambda t, m: len(robots) == 2)
    ask("dispenser", "pantry", "unknown")
    heard = until("a fleet that is not known is a failure", result("dispenser", "unknown", FAILED))
    mine = [m for t, m in heard if t.startswith("/dispenser") and "unknown" in str(m)]
    rmf.check(any(m.get("mode") == BUSY for m in mine) and any(m.get("status") == ACKNOWLEDGED for m in mine), mine)
    tell_fleet("car")
    ask("dispenser", "pantry", "one", "other")
    until("another fleet is one, too", result("dispenser", "one", FAILED))
    ask("dispenser", "nobody", "two")
    ask("dispenser", "pantry", "three")
    until("it dispenses", result("dispenser", "three", SUCCESS))
    until("the item is on the nearest robot of the fleet", coke_at(0.3, 0, 0.21))
    ask("dispenser", "pantry", "three")
    heard = until("the same request again is answered", result("dispenser", "three", SUCCESS))
    ask("dispenser", "pantry", "four")
    until("there is no second item", result("dispenser", "four", FAILED))
    ask("ingestor", "hardware", "five", "other")
    until("an ingestor needs the fleet, too", result("ingestor", "five", FAILED, "hardware"))
    drive("go", 0.3, 4)
    until("the robot carries it", coke_at(4, 0, 0.21))
    ask("ingestor", "hardware", "six")
    heard = until("it is taken", result("ingestor", "six", SUCCESS, "hardware"))
    begun = seconds(heard[-1][1]["time"])
    until("and is on the ingestor", coke_at(4, 1, 0.5))
    heard = until("it goes back to the dispenser", coke_at(0, 1, 0.5))
    rmf.check(5 <= seconds(heard[-1][1]["header"]["stamp"]) - begun < 6, "5 s later: %s %s" % (begun, heard[-1][1]["header"]))
    ask("ingestor", "hardware", "seven")
    until("the robot has nothing more", result("ingestor", "seven", FAILED, "hardware"))
    drive("back", 4, 0.3)
    until("the robot goes back", lambda t, m: t == "/robot_state" and m["name"] == "car" and m["location"]["x"] < 0.4)
    ask("dispenser", "pantry", "eight")
    until("it dispenses again", result("dispenser", "eight", SUCCESS))
    until("on the same robot", coke_at(0.35, 0, 0.21))


def test_readonly(rmf):
    rmf.listen("/robot_state", "rmf_fleet_msgs/RobotState")
    rmf.offer("/caddy/cmd_vel", "geometry_msgs/Twist")

    def caddy(good):
        return lambda topic, m: m["name"] == "caddy" and good(m)

    first = rmf.until("it tells where it is", caddy(lambda m: True))[-1][1]
    here = first["location"]
    rmf.check(abs(here["x"] - 7) < 0.01 and abs(here["y"] + 3) < 0.01 and abs(here["yaw"] - 0.5) < 0.01 and
              here["level_name"] == "B1", here)
    rmf.check(first["mode"]["mode"] == MOVING and first["battery_percent"] == 98 and first["task_id"] == "demo" and
              first["path"] == [], first)
    second = rmf.until("and again", caddy(lambda m: True))[-1][1]
    third = rmf.until("and again", caddy(lambda m: True))[-1][1]
    steps = (seconds(third["location"]["t"]) - seconds(second["location"]["t"])) / 0.25
    rmf.check(steps >= 1 and abs(steps - round(steps)) < 1e-6, "four times a second: %s" % steps)
    rmf.say("/caddy/cmd_vel", {"linear": {"x": 1, "y": 0, "z": 0}, "angular": {"x": 0, "y": 0, "z": 0}})
    rmf.until("it is driven", caddy(lambda m: m["location"]["x"] > 8))
    rmf.until("the slotcar tells its own", lambda topic, m: m["name"] == "car")


def main():
    rmf = Rmf(sys.argv[1])
    globals()["test_" + sys.argv[2]](rmf)
    print("%d passed, %d failed" % (rmf.passed, rmf.failed))
    sys.exit(rmf.failed != 0)


if __name__ == "__main__":
    main()
