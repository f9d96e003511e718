#!/usr/bin/env python3
"""What a program for trajectories does with many arms of ros2_control, through rosbridge: arms_client.py PORT COUNT.

Each arm has its controllers in its namespace. It gets a trajectory on its controller's topic, with a goal of its own, and a
velocity of its wrist on the topic of the hardware; /joint_states must come to the goals, before and after a reset."""
import sys

from rmf_client import Rmf

SHOULDER, ELBOW, WRIST = "shoulder", "elbow", "wrist"


def main():
    rmf, count = Rmf(sys.argv[1]), int(sys.argv[2])
    arms = ["arm%d" % i for i in range(count)]
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
    print("%d passed, %d failed" % (rmf.passed, rmf.failed))
    sys.exit(rmf.failed != 0)


main()
