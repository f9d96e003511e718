"""The side of Python in bench_python.c: a world of so many bytes comes first on standard input, then numbers of steps. The
second argument is the number of carts that are controlled in it, or, with a third one, the number of worlds of an
environment, whose first cart is controlled every so many steps: then numbers of actions come, and the first line of the answer says whether there is numpy."""
import sys
import time

import troupe

length, controlled = int(sys.argv[1]), int(sys.argv[2])
text = sys.stdin.buffer.read(length).decode()


def act(env):
    """The same feedback as below, of all worlds."""
    observations, actions = env.observations, env.actions
    if hasattr(observations, "strides"):  # of numpy
        actions[:, 0] = 0.5 + 0.1 * (0.5 - observations[:, 0])
        actions[:, 1] = -observations[:, 1]
        return
    for i in range(env.num_envs):
        actions[i, 0] = 0.5 + 0.1 * (0.5 - observations[i, 0])
        actions[i, 1] = -observations[i, 1]


def be_an_environment():
    env = troupe.VectorEnv(text=text, num_envs=controlled, actions=["cart_0.vx", "cart_0.wz"],
                           observations=["cart_0.vx", "cart_0.qz"], steps=int(sys.argv[3]))
    env.reset(seed=[0] * controlled)
    print(int(hasattr(env.observations, "strides")), flush=True)
    for line in sys.stdin.buffer:
        begin = time.perf_counter_ns()
        for _ in range(int(line)):
            act(env)
            env.step()
        hashes = sum(world.hash for world in env.worlds)
        print(time.perf_counter_ns() - begin, "%x" % (hashes & ((1 << 64) - 1)), flush=True)
    env.close()
    sys.exit()


if len(sys.argv) > 3:
    be_an_environment()
world = troupe.World(text=text, secondaries=0)
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
