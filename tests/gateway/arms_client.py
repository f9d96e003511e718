#!/usr/bin/env python3
"""What a program for trajectories does with many arms of ros2_control, through rosbridge: arms_client.py PORT COUNT.

Each arm has its controllers in its namespace. It gets a trajectory on its controller's topic, with a goal of its own, and a
velocity of its wrist on the topic of the hardware; /joint_states must come to the goals, before and after a reset. Then
its controllers are listed and switched, and it gets goals as MoveIt sends them, which end in each way that a goal can end.

arms_client.py PORT COUNT FILE      only the goals, of the arms of this world, which it loads first
arms_client.py PORT NAME URDF       in the process of the robot client NAME: an arm that this client creates
"""
import sys
import time

from rmf_client import Rmf
from rosbridge_client import Client

SHOULDER, ELBOW, WRIST = "shoulder", "elbow", "wrist"


CONTROLLER, ACTION = "joint_trajectory_controller", "control_msgs/action/FollowJointTrajectory"
EXECUTING, SUCCEEDED, CANCELED, ABORTED = 2, 4, 5, 6
LIMIT_S = 60


def point(time_s, *positions):
    return {"positions": list(positions), "time_from_start": {"sec": int(time_s), "nanosec": int(round(time_s % 1 * 1e9))}}


class Controllers:
    """Services of the controller managers, and goals of the arms' controllers."""

    def __init__(self, rmf):
        self.rmf, self.calls = rmf, 0
        self.results, self.feedback, self.answers = {}, {}, {}

    def hear(self, what, good):
        end = time.monotonic() + LIMIT_S
        while not good() and time.monotonic() < end:
            operation = self.rmf.client.take()
            if not operation:
                raise SystemExit("the connection was closed: %s" % self.rmf.client.reason)
            kept = {"action_result": self.results, "action_feedback": self.feedback, "service_response": self.answers}.get(operation["op"])
            if kept is not None:
                kept.setdefault(operation.get("id"), []).append(operation)
        self.rmf.check(good(), what)

    def call(self, arm, service, **args):
        self.calls += 1
        key = "call%d" % self.calls
        self.rmf.client.send({"op": "call_service", "service": "/%s/controller_manager/%s" % (arm, service), "args": args, "id": key})
        self.hear("%s answers" % service, lambda: key in self.answers)
        return self.answers[key][0]["values"]

    def send(self, arm, *points, joints=(ELBOW, SHOULDER), **more):
        self.calls += 1
        key = "goal%d" % self.calls
        self.rmf.client.send({"op": "send_action_goal", "id": key, "action": "/%s/%s/follow_joint_trajectory" % (arm, CONTROLLER),
                              "action_type": ACTION, "feedback": True,
                              "args": dict(trajectory={"joint_names": joints, "points": points}, **more)})
        return key

    def cancel(self, arm, key):
        self.rmf.client.send({"op": "cancel_action_goal", "id": key, "action": "/%s/%s/follow_joint_trajectory" % (arm, CONTROLLER)})

    def result(self, what, key, status, code=0, text=""):
        self.hear("%s ends" % what, lambda: key in self.results)
        said = self.results[key][0]
        values = said["values"]
        self.rmf.check(said["status"] == status and said["result"] and values["error_code"] == code and text in values["error_string"],
                       "%s: %s" % (what, said))

    def refused(self, what, key, text):
        self.hear("%s ends" % what, lambda: key in self.results)
        said = self.results[key][0]
        self.rmf.check(not said["result"] and key not in self.feedback and text in said["values"], "%s: %s" % (what, said))


def test_manager(rmf, arm):
    manager = Controllers(rmf)
    states = {c["name"]: c for c in manager.call(arm, "list_controllers")["controller"]}
    rmf.check(set(states) == {CONTROLLER, "joint_state_broadcaster", "wrist_controller"}, states)
    mine = states[CONTROLLER]
    rmf.check(mine["state"] == "active" and mine["type"] == "joint_trajectory_controller/JointTrajectoryController" and
              mine["claimed_interfaces"] == ["shoulder/position", "elbow/position"] and mine["update_rate"] == 1000, mine)
    interfaces = manager.call(arm, "list_hardware_interfaces")
    claimed = {i["name"]: i["is_claimed"] for i in interfaces["command_interfaces"]}
    rmf.check(claimed == {"shoulder/position": True, "elbow/position": True, "wrist/velocity": True, "grip/effort": False,
                          "grip/position": False}, claimed)
    rmf.check([i["name"] for i in interfaces["state_interfaces"]] == ["shoulder/position", "shoulder/velocity", "elbow/position",
                                                                    "wrist/velocity", "grip/position"], interfaces)
    for service in "load_controller", "configure_controller":
        rmf.check(manager.call(arm, service, name=CONTROLLER)["ok"] and not manager.call(arm, service, name="none")["ok"], service)
    rmf.check(mine["type"] in manager.call(arm, "list_controller_types")["types"], "types")

    def switch(on, off, strictness):
        return manager.call(arm, "switch_controller", activate_controllers=on, deactivate_controllers=off, strictness=strictness)

    said = switch([], ["joint_state_broadcaster"], 2)
    rmf.check(not said["ok"] and "joint_state_broadcaster" in said["message"], said)
    said = switch(["none"], [CONTROLLER], 2)
    rmf.check(not said["ok"] and "none" in said["message"], said)
    running = manager.send(arm, point(30, 0.2, 0.2))
    manager.hear("it runs", lambda: running in manager.feedback)
    rmf.check(switch(["none"], [CONTROLLER], 1)["ok"], "the best effort")
    manager.result("a goal of a controller that is switched off", running, CANCELED, 0, "deactivated")
    states = {c["name"]: c for c in manager.call(arm, "list_controllers")["controller"]}
    rmf.check(states[CONTROLLER]["state"] == "inactive" and states[CONTROLLER]["claimed_interfaces"] == [], states[CONTROLLER])
    manager.refused("a goal without its controller", manager.send(arm, point(1, 0.2, 0.2)), "not active")
    rmf.check(switch([CONTROLLER], [], 2)["ok"], "it is on again")
    manager.result("a goal after that", manager.send(arm, point(0.5, 0.2, 0.2)), SUCCEEDED)
    test_unloading(rmf, manager, arm, switch)


def test_unloading(rmf, manager, arm, switch):
    """What is unloaded is not in the list, and comes back step by step, as spawner and unspawner do it."""
    def state():
        return {c["name"]: c["state"] for c in manager.call(arm, "list_controllers")["controller"]}.get(CONTROLLER)

    def told(service, good, after):
        said, now = manager.call(arm, service, name=CONTROLLER), state()
        rmf.check(said == {"ok": good} and now == after, "%s: %s, then %s" % (service, said, now))

    for service in "unload_controller", "cleanup_controller":
        told(service, False, "active")
        rmf.check(not manager.call(arm, service, name="none")["ok"], service)
        rmf.check(not manager.call(arm, service, name="wrist_controller")["ok"], "%s of one that is always active" % service)
    rmf.check(switch([], [CONTROLLER], 2)["ok"], "it is off")
    told("unload_controller", True, None)
    told("unload_controller", False, None)
    told("configure_controller", False, None)
    said = switch([CONTROLLER], [], 2)
    rmf.check(not said["ok"] and "'%s' is unloaded: expected load_controller" % CONTROLLER in said["message"], said)
    rmf.check(not switch([CONTROLLER], [], 1)["ok"], "the best effort is none")
    rmf.check(switch([CONTROLLER, "wrist_controller"], [], 1)["ok"] and state() is None, "the best effort is for the other one")
    manager.refused("a goal of what is unloaded", manager.send(arm, point(1, 0.2, 0.2)), "not active")
    told("load_controller", True, "unconfigured")
    told("load_controller", True, "unconfigured")
    said = switch([], [CONTROLLER], 2)
    rmf.check(not said["ok"] and "is unconfigured: expected configure_controller first" in said["message"], said)
    told("configure_controller", True, "inactive")
    told("cleanup_controller", True, "unconfigured")
    told("cleanup_controller", True, "unconfigured")
    told("unload_controller", True, None)
    told("load_controller", True, "unconfigured")
    told("configure_controller", True, "inactive")
    rmf.check(switch([CONTROLLER], [], 2)["ok"] and state() == "active", "it is on again")
    manager.result("a goal after that", manager.send(arm, point(0.5, 0.3, 0.2)), SUCCEEDED)


def test_goals(rmf, arms):
    all_of = Controllers(rmf)
    keys = [all_of.send(arm, point(0.5, 0.1, 0.1), point(1, 0.4 + 0.01 * i, 0.2)) for i, arm in enumerate(arms)]
    for i, key in enumerate(keys):
        all_of.result("the goal of arm %d" % i, key, SUCCEEDED)
        values = all_of.feedback[key][-1]["values"]
        rmf.check(values["joint_names"] == [SHOULDER, ELBOW] and len(values["actual"]["positions"]) == 2 and
                  0.05 < values["desired"]["positions"][1] <= 0.4 + 0.01 * i + 1e-9 and
                  all(abs(d - a - e) < 1e-9 for d, a, e in zip(*(values[k]["positions"] for k in ("desired", "actual", "error")))), values)
    arm = arms[0]
    key = all_of.send(arm, point(30, 1, 1))
    all_of.hear("a long goal runs", lambda: len(all_of.feedback.get(key, [])) > 2)
    all_of.cancel(arm, key)
    all_of.result("a goal that is cancelled", key, CANCELED, 0, "cancelled")
    first = all_of.send(arm, point(30, 1, 1))
    all_of.hear("another long goal runs", lambda: first in all_of.feedback)
    second = all_of.send(arm, point(0.5, 0.3, 0.3))
    all_of.result("a goal that is replaced", first, CANCELED, 0, "another goal")
    all_of.result("the goal that replaces it", second, SUCCEEDED)
    many = [all_of.send(arm, point(30, 1, 1)) for _ in range(6)]  # several of them in one step
    many.append(all_of.send(arm, point(0.5, 0.3, 0.3)))
    for key in many[:-1]:
        all_of.result("a goal of many that are replaced", key, CANCELED, 0, "another goal")
    all_of.result("the last one of many", many[-1], SUCCEEDED)
    third = all_of.send(arm, point(30, 1, 1))
    all_of.hear("a third long goal runs", lambda: third in all_of.feedback)
    rmf.offer("/%s/%s/joint_trajectory" % (arm, CONTROLLER), "trajectory_msgs/JointTrajectory")
    rmf.say("/%s/%s/joint_trajectory" % (arm, CONTROLLER), {"joint_names": [ELBOW, SHOULDER], "points": [point(0.2, 0.3, 0.3)]})
    all_of.result("a goal that a trajectory on the topic ends", third, CANCELED, 0, "on the controller's topic")
    tight = [{"name": SHOULDER, "position": 0.05}]
    all_of.result("a joint leaves its path", all_of.send(arm, point(0.05, 0.3, 1.9), path_tolerance=tight), ABORTED, -4, "'shoulder'")
    # far too fast for the joints, whose limit is 3 rad/s; the file has a goal of 0.01 rad and a time of 0.5 s for it
    all_of.result("a joint is not at its goal", all_of.send(arm, point(0.05, 0.3, -1.9)), ABORTED, -5, "'shoulder'")
    free = [{"name": SHOULDER, "position": -1, "velocity": -1}, {"name": ELBOW, "velocity": -1}]
    all_of.result("a goal without tolerances", all_of.send(arm, point(0.05, 0.3, 1.9), goal_tolerance=free), SUCCEEDED)
    longer = {"sec": 20, "nanosec": 0}
    all_of.result("a goal with more time", all_of.send(arm, point(0.05, 0.3, -1.5), goal_time_tolerance=longer), SUCCEEDED)
    for what, text, points, more in (
            ("a joint of another robot", "'leg' is not", [point(1, 0.1)], {"joints": ["leg"]}),
            ("a joint twice", "'elbow' is named twice", [point(1, 0.1, 0.1)], {"joints": [ELBOW, ELBOW]}),
            ("a joint that is left out", "'shoulder' is not named", [point(1, 0.1)], {"joints": [ELBOW]}),
            ("no points", "0 points", [], {}),
            ("a list that is short", "1 positions for 2 joints", [point(1, 0.1)], {}),
            ("times that do not grow", "point 1: time_from_start", [point(1, 0.1, 0.1), point(1, 0.2, 0.2)], {}),
            ("a tolerance of no joint", "'leg'", [point(1, 0.1, 0.1)], {"path_tolerance": [{"name": "leg", "position": 1}]})):
        all_of.refused(what, all_of.send(arm, *points, **more), text)
    last = all_of.send(arm, point(30, 1, 1))
    all_of.hear("a last long goal runs", lambda: last in all_of.feedback)
    rmf.client.send({"op": "call_service", "service": "/reset_simulation", "args": {"scope": 0}, "id": "reset"})
    all_of.result("a goal when the world is reset", last, ABORTED, -1, "reset")
    all_of.result("a goal after that", all_of.send(arm, point(0.5, 0.3, 0.3)), SUCCEEDED)


def test_topics(rmf, arms, count):
    states = {}
    for arm in arms:
        rmf.listen("/%s/joint_states" % arm, "sensor_msgs/JointState")
        rmf.offer("/%s/joint_trajectory_controller/joint_trajectory" % arm, "trajectory_msgs/JointTrajectory")
        rmf.offer("/%s/robot_joint_command" % arm, "sensor_msgs/JointState")

    def hears(good):
        def check(topic, message):
            if topic.endswith("/joint_states"):
                states[topic.split("/")[1]] = dict(zip(message["name"], message["position"]))
            return len(states) == count and good()
        return check

    def goal(i, turn):
        return [0.4 + 0.02 * i, 0.8 - 0.03 * i] if turn else [-0.3 - 0.02 * i, 0.5 + 0.02 * i]

    def are_at(turn):
        return lambda: all(abs(states[arm][SHOULDER] - goal(i, turn)[0]) < 0.02 and abs(states[arm][ELBOW] - goal(i, turn)[1]) < 0.02
                           for i, arm in enumerate(arms))

    for turn in range(2):
        rmf.until("all arms begin at their initial value", hears(lambda: all(abs(states[arm][SHOULDER] - 0.5) < 0.01 for arm in arms)), 40000)
        begun = {arm: states[arm][WRIST] for arm in arms}
        for i, arm in enumerate(arms):
            rmf.say("/%s/joint_trajectory_controller/joint_trajectory" % arm, {
                "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}, "joint_names": [ELBOW, SHOULDER], "points": [
                    {"positions": [0.1, 0.1], "velocities": [], "accelerations": [], "effort": [],
                     "time_from_start": {"sec": 0, "nanosec": 500000000}},
                    {"positions": goal(i, turn)[::-1], "velocities": [], "accelerations": [], "effort": [],
                     "time_from_start": {"sec": 1, "nanosec": 0}}]})
            rmf.say("/%s/robot_joint_command" % arm, {"header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
                                                      "name": [WRIST], "position": [], "velocity": [0.5], "effort": []})
        rmf.until("each arm is at its own goal, time %d" % turn, hears(are_at(turn)), 40000)
        rmf.until("and its wrist turns", hears(lambda: all(states[arm][WRIST] - begun[arm] > 0.2 for arm in arms)), 40000)
        if not turn:
            rmf.client.send({"op": "call_service", "service": "/reset_simulation", "args": {"scope": 0}})
            states.clear()
    for arm in arms:
        rmf.client.send({"op": "unsubscribe", "topic": "/%s/joint_states" % arm})


def load(rmf, world):
    """Another world, in the same process: the connection to it. A goal of the world before ends with it."""
    before = Controllers(rmf)
    key = before.send("arm0", point(30, 1, 1))
    before.hear("a goal runs", lambda: key in before.feedback)
    rmf.client.send({"op": "call_service", "service": "/load_world", "args": {"world_resource": {"uri": world}}, "id": "load"})
    before.hear("the world is loaded", lambda: "load" in before.answers)
    rmf.check(before.answers["load"][0]["values"]["result"]["result"] == 1, before.answers["load"])
    before.result("a goal of the world before", key, ABORTED, -1)
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            client = Client(sys.argv[1])
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    client.send({"op": "call_service", "service": "/set_simulation_state", "args": {"state": {"state": 1}}})
    return client


def test_client(rmf, name, urdf):
    """Names have the client's before them; the primary's own services are not offered."""
    manager, arm = Controllers(rmf), "%s/mine" % name
    with open(urdf) as file:
        rmf.client.send({"op": "call_service", "service": "/%s/world/w/create" % name, "args": {"sdf": file.read(), "name": "mine"}, "id": "create"})
    manager.hear("the arm is created", lambda: "create" in manager.answers)
    end = time.monotonic() + LIMIT_S
    actions = []
    while not actions and time.monotonic() < end:
        manager.calls += 1
        key = "actions%d" % manager.calls
        rmf.client.send({"op": "call_service", "service": "/rosapi/action_servers", "id": key})
        manager.hear("rosapi answers", lambda: key in manager.answers)
        actions = manager.answers[key][0]["values"]["action_servers"]
    rmf.check(actions == ["/%s/%s/follow_joint_trajectory" % (arm, CONTROLLER)], actions)
    manager.result("a goal", manager.send(arm, point(0.5, 0.3, 0.3)), SUCCEEDED)
    manager.refused("a goal of half its joints", manager.send(arm, point(0.5, 0.3), joints=[ELBOW]), "'shoulder' is not named")
    said = manager.call(arm, "switch_controller", deactivate_controllers=["none"], strictness=2)
    rmf.check(not said["ok"] and "none" in said["message"], said)
    rmf.check(manager.call(arm, "switch_controller", deactivate_controllers=[CONTROLLER], strictness=2)["ok"], "it is off")
    states = {c["name"]: c["state"] for c in manager.call(arm, "list_controllers")["controller"]}
    rmf.check(states[CONTROLLER] == "inactive", states)


def main():
    rmf = Rmf(sys.argv[1])
    count = int(sys.argv[2]) if sys.argv[2].isdigit() else 0
    arms = ["arm%d" % i for i in range(count)]
    if not count:
        test_client(rmf, *sys.argv[2:4])
    elif sys.argv[3:]:
        rmf.client = load(rmf, sys.argv[3])
    else:
        test_topics(rmf, arms, count)
        test_manager(rmf, arms[-1])
    if count:
        test_goals(rmf, arms)
    print("%d passed, %d failed" % (rmf.passed, rmf.failed))
    sys.exit(rmf.failed != 0)


main()
