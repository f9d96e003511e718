"""The side of Python in bench_python.c: a world of so many bytes comes first on standard input, then numbers of steps."""
import sys
import time

import troupe

length, controlled = int(sys.argv[1]), int(sys.argv[2])
world = troupe.World(text=sys.stdin.buffer.read(length).decode(), secondaries=0)
everything = world.models(["cart_%d" % i for i in range(64)])
everything.command_twists([(0.5, 0, 0, 0, 0, 0)] * 64)
carts = world.models(["cart_%d" % i for i in range(controlled)])
first = carts[0]


def control_one():
    vx, qz = first.twist.vx, first.pose.qz
    first.command_twist((0.5 + 0.1 * (0.5 - vx), 0, 0), (0, 0, -qz))


def control_all():
    carts.read()
    poses, twists, commands = carts.poses, carts.twists, carts.commands
    for i in range(controlled):
        commands[i, 0] = 0.5 + 0.1 * (0.5 - twists[i, 0])
        commands[i, 5] = -poses[i, 6]
    carts.command_twists()


control = control_one if controlled == 1 else control_all
for line in sys.stdin.buffer:
    begin = time.perf_counter_ns()
    for _ in range(int(line)):
        world.step()
        control()
    print(time.perf_counter_ns() - begin, "%x" % world.hash, flush=True)
