"""The side of Python in bench_fleet.c, which gives the plan's file, the length of the world, the number of robots, the
step in ms and the number of secondaries. The world comes first on standard input, then numbers of periods of control."""
import math
import sys
import time

import troupe

CONTROL_MS = 40
SPEED_MAX, TURN_MAX, ALONG, ACROSS, HEADING = 1.6, 2.0, 1.0, 2.0, 2.0  # as in fleet.c

path, length, count, step_ms, secondaries = sys.argv[1], *map(int, sys.argv[2:])
world = troupe.World(text=sys.stdin.buffer.read(length).decode(), secondaries=secondaries)
plan = [[] for _ in range(count)]
with open(path) as lines:
    next(lines)
    for line in lines:
        name, *numbers = line.split(",")
        plan[int(name[6:])].append(tuple(map(float, numbers)))
robots = world.models(["robot_%d" % i for i in range(count)])
at = [0] * count


def between(low, value, high):
    return max(low, min(high, value))


def length_of(x, y):  # as C computes it; math.hypot() rounds otherwise
    return math.sqrt(x * x + y * y)


def follow(robot, now, x, y, yaw):
    rows = plan[robot]
    while at[robot] + 2 < len(rows) and rows[at[robot] + 1][0] <= now:
        at[robot] += 1
    a, b = rows[at[robot]], rows[at[robot] + 1]
    takes = b[0] - a[0]
    part = min(1.0, (now - a[0]) / takes)
    dx, dy = a[1] + part * (b[1] - a[1]) - x, a[2] + part * (b[2] - a[2]) - y
    turn = math.remainder(a[3] + part * (b[3] - a[3]) - yaw, 2 * math.pi)
    speed = length_of(b[1] - a[1], b[2] - a[2]) / takes if part < 1 else 0.0
    rate = (b[3] - a[3]) / takes if part < 1 else 0.0
    along = math.cos(yaw) * dx + math.sin(yaw) * dy
    across = math.cos(yaw) * dy - math.sin(yaw) * dx
    rate += speed * ACROSS * across + HEADING * math.sin(turn)
    return (between(-SPEED_MAX, speed * math.cos(turn) + ALONG * along, SPEED_MAX), 0.0, 0.0, 0.0, 0.0,
            between(-TURN_MAX, rate, TURN_MAX))


def drive():
    robots.read()
    now = world.steps * step_ms / 1000
    for i, (x, y, _, qw, _, _, qz) in enumerate(robots.poses.tolist()):
        robots.commands[i] = follow(i, now, x, y, 2 * math.atan2(qz, qw))
    robots.command_twists()


for line in sys.stdin.buffer:
    begin, processor = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(int(line)):
        drive()
        world.step(CONTROL_MS // step_ms)
    print(time.perf_counter_ns() - begin, time.process_time_ns() - processor, "%x" % world.hash, flush=True)
