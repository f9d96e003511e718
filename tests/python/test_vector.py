"""VectorEnv and ParallelEnv: the bits are those of single worlds, also over the ends of episodes, with delays and with
parameters; only the worlds of a mask begin anew; arrays are memory of the environment; episodes are recorded."""
import functools
import os
import subprocess
import sys
import tempfile

import runner
import troupe

WORLD = """<sdf version="1.9"><world name="w"><physics name="p" type="ode"><max_step_size>0.004</max_step_size></physics>
<model name="floor"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>
<model name="box"><pose>0 3 0.5 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial><collision name="c"><geometry>
<box><size>1 1 1</size></box></geometry><surface><friction><ode><mu>0.1</mu></ode></friction></surface></collision>
<sensor name="imu" type="imu"><update_rate>100</update_rate><imu><linear_acceleration><x><noise type="gaussian"><mean>0</mean>
<stddev>0.1</stddev></noise></x></linear_acceleration></imu></sensor></link></model>
<include><uri>models/cart</uri><name>cart</name></include>
<include><uri>models/cart</uri><name>other</name><pose>0 -3 0 0 0 0</pose></include></world></sdf>"""
ACTIONS = ["cart.vx", "cart.wz", "box/l.fx"]
OBSERVATIONS = ["cart.x", "cart.y", "cart.qz", "cart.vx", "cart/chassis.z", "cart/left_wheel_joint.position",
                "cart/left_wheel_joint.velocity", "box.x", "box/l::imu.ax"]
COUNT, STEPS = 5, 5


def row(k, i):
    return [0.1 * i + 0.05 * (k % 4), 0.2 - 0.1 * i, 2.0 * i]


def raises(kind, words, call):
    try:
        call()
    except kind as why:
        assert words in str(why), "%r: expected %r" % (str(why), words)
        return
    raise AssertionError("no %s" % kind.__name__)


def fails_to_close(world, close):
    close()
    raise troupe.Error("EIO", "no space for %x" % id(world))


class Single:
    """One world, commanded and read by the calls for one world."""

    def __init__(self, seed, text=WORLD, delay=0):
        self.world, self.delay = troupe.World(text=text, seed=seed, secondaries=0), delay
        self.cart, self.box = self.world.model("cart"), self.world.model("box")
        self.imu = self.box.sensor("l::imu").hold()

    def step(self, action):
        at = self.world.steps + self.delay
        self.cart.command_twist((action[0], 0, 0), (0, 0, action[1]), step=at)
        for i in range(STEPS):
            self.box.link("l").command_wrench((action[2], 0, 0), step=at + i)
        self.world.step(STEPS)

    def look(self):
        joint, reading = self.cart.joint("left_wheel_joint"), self.imu.reading
        pose, twist = self.cart.pose, self.cart.twist
        return [pose.x, pose.y, pose.qz, twist.vx, self.cart.link("chassis").pose.z, joint.position, joint.velocity,
                self.box.pose.x, reading.numbers["ax"] if reading else None]


def same(found, expected):
    found = [float(number) for number in found]
    return all(a == b or (b is None and a != a) for a, b in zip(found, expected)) and len(found) == len(expected)


def make(**more):
    return troupe.VectorEnv(text=WORLD, num_envs=COUNT, actions=ACTIONS, observations=OBSERVATIONS, steps=STEPS, threads=3, **more)


def test_bits_of_single_worlds():
    """Each row is that of a world alone, with delays, until the episode ends, and in the next one."""
    delays = [0, 0, 3, 7, 11]
    with make(delays=delays, episode=12) as env:
        observations, infos = env.reset(seed=40)
        assert infos["seed"] == [40 + i for i in range(COUNT)]
        singles = [Single(40 + i, delay=delays[i]) for i in range(COUNT)]
        for k in range(30):
            over = list(env._over)
            _, rewards, terminated, truncated, _ = env.step([row(k, i) for i in range(COUNT)])
            for i in range(COUNT):
                if over[i]:
                    singles[i].world.close()
                    singles[i] = Single(env.seeds[i], delay=delays[i])
                else:
                    singles[i].step(row(k, i))
                assert env.worlds[i].hash == singles[i].world.hash, "world %d after action %d" % (i, k)
                assert same(observations[i], singles[i].look()), (k, i, observations[i].tolist(), singles[i].look())
            assert list(truncated) == [k % 13 == 11] * COUNT and not any(terminated), k
        assert len({world.hash for world in env.worlds}) == COUNT


def test_some_worlds_begin_anew():
    with make() as env:
        env.reset(seed=1)
        for k in range(4):
            env.step([row(k, i) for i in range(COUNT)])
        before, rows = [world.hash for world in env.worlds], env.observations.tolist()
        env.reset(options={"reset_mask": [False, True, False, False, True]})
        after = [world.hash for world in env.worlds]
        assert [a == b for a, b in zip(before, after)] == [True, False, True, True, False]
        assert str(env.observations.tolist()[0]) == str(rows[0]) and env.observations.tolist()[1][0] == 0
        env.reset(seed=[7] * COUNT, options={"reset_mask": [True, True, False, False, False]})
        assert env.seeds[:2] == [7, 7] and env.worlds[0].hash == env.worlds[1].hash


def test_parameters():
    """Each world has its own masses and frictions, and the bits of the world that is written so."""
    masses = [0.5, 1, 2, 4, 8]
    frictions = ["0.01", "0.1", "0.2", "0.4", "0.8"]
    with make(parameters={"model[@name='box']/link/inertial/mass": masses,
                          "model[@name='box']/link/collision/surface/friction/ode/mu": frictions,
                          "model[@name='box']/link/collision/surface/friction/ode/mu2": frictions}) as env:
        env.reset(seed=1)
        for k in range(20):
            env.step([[0, 0, 5.0]] * COUNT)
        places = [env.observations[i][7] for i in range(COUNT)]
        for i in range(COUNT):
            text = WORLD.replace("<mass>1<", "<mass>%r<" % float(masses[i])).replace(
                "<mu>0.1</mu>", "<mu>%s</mu><mu2>%s</mu2>" % (frictions[i], frictions[i]))
            single = Single(1 + i, text)
            for k in range(20):
                single.step([0, 0, 5.0])
            assert single.box.pose.x == places[i] and single.world.hash == env.worlds[i].hash
        assert all(a > b for a, b in zip(places, places[1:4])) and places[0] > 0.01, places
    for wrong in ({"model[@name='bax']/link": masses}, {"nowhere": masses}):
        raises(ValueError, "parameters", lambda wrong=wrong: make(parameters=wrong))
    raises(ValueError, "5", lambda: make(parameters={"gravity": [1]}))


def test_ends():
    """Rewards and ends come from functions; the three ways to begin anew are those of Gymnasium."""
    def far(env):
        return [env.observations[i][0] > 0.2 for i in range(COUNT)]

    def nearer(env):
        return [env.observations[i][0] - env.previous[i][0] for i in range(COUNT)]

    def drive(env):
        return env.step([[1.0 * i, 0, 0] for i in range(COUNT)])

    with make(ended=far, reward=nearer, autoreset="next_step") as env:
        env.reset(seed=1)
        for _ in range(200):
            _, rewards, terminated, _, infos = drive(env)
            if terminated[4]:
                break
        assert terminated[4] and not terminated[0] and not infos and rewards[4] > 0 and env.observations[4][0] > 0.2
        episode = env.worlds[4]
        _, rewards, terminated, _, _ = drive(env)
        assert env.worlds[4] is not episode and rewards[4] == 0 and not terminated[4] and env.worlds[4].steps == 0
        assert drive(env)[1][4] is not None and env.worlds[4].steps == STEPS
    with make(ended=far, autoreset="same_step") as env:
        env.reset(seed=1)
        for _ in range(200):
            _, _, terminated, _, infos = drive(env)
            if terminated[4]:
                break
        assert infos["final_obs"][4][0] > 0.2 and infos["final_obs"][0] is None and list(infos["_final_obs"]) == list(terminated)
        assert env.observations[4][0] == 0 and env.worlds[4].steps == 0
    with make(ended=far, autoreset="disabled") as env:
        env.reset(seed=1)
        while not drive(env)[2][4]:
            pass
        raises(troupe.Error, "episode is over", lambda: drive(env))
        env.reset(options={"reset_mask": env._over})
        drive(env)


def test_memory():
    """Arrays are always the same memory, and can be written."""
    with make() as env:
        first, _ = env.reset(seed=1)
        env.actions[2, 0] = 1.0
        second = env.step()[0]
        for _ in range(30):
            env.step()
        assert first is second is env.observations and first[2, 0] > first[0, 0]
        view = memoryview(first if hasattr(first, "strides") else first.view)
        assert view.format == "d" and view.shape == (COUNT, len(OBSERVATIONS))
        assert env.actions.shape == (COUNT, 3) and env.metadata["autoreset_mode"]
    assert first[2, 0] > 0, "it stays when the worlds are closed"


def test_begin_and_record():
    """begin() places things by the seed; each episode is recorded."""
    with tempfile.TemporaryDirectory() as folder:
        def begin(world, draw):
            world.model("cart").command_pose((draw.uniform(-1, 1), 0, 0.1, 1, 0, 0, 0))
            world.step(1)

        with make(begin=begin, record=folder, episode=3) as env:
            places = env.reset(seed=9)[0].tolist()
            assert len({place[0] for place in places}) == COUNT
            for k in range(6):
                env.step([row(k, i) for i in range(COUNT)])
            env.reset(seed=9)
            assert [place[0] for place in env.observations.tolist()] == [place[0] for place in places]
        found = sorted(os.listdir(folder))
        assert found[:2] == ["env_0_episode_0", "env_0_episode_1"] and len(found) == 3 * COUNT
        for name in found[:4]:
            done = subprocess.run([os.environ["TROUPE"], "replay", os.path.join(folder, name)], capture_output=True, timeout=60)
            assert done.returncode == 0 and b"all the same" in done.stdout, done


def test_agents():
    """Two agents in one world, in PettingZoo's shape; the bits are those of the world alone."""
    agents = {name: {"actions": [name + ".vx", name + ".wz"], "observations": [name + ".x", name + ".vx"]}
              for name in ("cart", "other")}
    env = troupe.ParallelEnv(text=WORLD, agents=agents, steps=STEPS, episode=40, reward=lambda env, agent: env.observe(agent)[1],
                             ended=lambda env, agent: env.observe(agent)[0] > 0.15)
    observations, infos = env.reset(seed=3)
    world = troupe.World(text=WORLD, seed=3, secondaries=0)
    assert env.agents == env.possible_agents == ["cart", "other"] and env.max_num_agents == 2
    assert list(observations) == ["cart", "other"] == list(infos) and len(observations["cart"]) == 2
    ended, actions = {}, 0
    while env.agents:
        commands = {agent: (0.3 if agent == "cart" else 0.1, 0.05) for agent in env.agents}
        for agent in agents:
            command = commands.get(agent, (0, 0))
            world.model(agent).command_twist((command[0], 0, 0), (0, 0, command[1]))
        observations, rewards, terminations, truncations, infos = env.step(commands)
        world.step(STEPS)
        actions += 1
        assert env.world.hash == world.hash, actions
        assert set(observations) == set(rewards) == set(terminations) == set(truncations) == set(infos) == set(commands)
        for agent in commands:
            assert observations[agent][0] == world.model(agent).pose.x and rewards[agent] == world.model(agent).twist.vx
            if terminations[agent] or truncations[agent]:
                ended[agent] = actions
    assert ended["cart"] < ended["other"] == 40 and env.num_agents == 0, ended
    raises(ValueError, "expected those of", lambda: env.step({"cart": (0, 0)}))
    env.close()


def test_refused():
    for columns in (["cart"], ["cart.speed"], [".x"], ["cart/.x"], ["cart/left_wheel_joint.x"]):
        env = troupe.VectorEnv(text=WORLD, num_envs=2, actions=["cart.vx"], observations=columns)
        raises(ValueError, "expected", env.reset)
        env.close()
    env = troupe.VectorEnv(text=WORLD, num_envs=2, actions=["cart.vx"], observations=["cort.x"])
    raises(troupe.UnknownName, "'cart'", env.reset)
    env.close()
    env = make()
    raises(troupe.Error, "reset", env.step)
    raises(ValueError, "reset of all", lambda: env.reset(options={"reset_mask": [True] + [False] * 4}))
    env.reset(seed=1)
    raises(ValueError, "expected 15", lambda: env.step([[0, 0, 0]]))
    raises(troupe.Error, "world 1", lambda: env.step([[0, 0, 0], [float("nan"), 0, 0]] + [[0, 0, 0]] * 3))
    env.close()
    env = make(record=tempfile.mkdtemp())
    env.reset(seed=1)
    worlds = list(env.worlds)
    for world in worlds[1:3]:
        world.close = functools.partial(fails_to_close, world, world.close)
    raises(troupe.Error, "no space for %x" % id(worlds[1]), env.close)
    for world in worlds:
        raises(troupe.Error, "closed", world.step)
    env.close()
    raises(ValueError, "autoreset", lambda: make(autoreset="never"))
    for wrong in ([1], [1] * 4, [1] * 6):
        raises(ValueError, "delays: %d values: expected 5" % len(wrong), lambda wrong=wrong: make(delays=wrong))
        for name, arguments in (("seed", {"seed": wrong}), ("reset_mask", {"options": {"reset_mask": wrong}})):
            with make() as env:
                raises(ValueError, "%s: %d values: expected 5" % (name, len(wrong)), lambda: env.reset(**arguments))
    with make() as env:
        raises(ValueError, "seed: -1", lambda: env.reset(seed=[1, 2, 3, 4, -1]))
        raises(ValueError, "chosen", lambda: env.reset(options={"reset_mask": [False] * 5}))
        env.reset(seed=[9, None, 9, 9, 9])
        assert env.seeds[0] == env.seeds[4] == 9 and env.seeds[1] is not None
    raises(ValueError, "episode: -1", lambda: make(episode=-1))
    raises(ValueError, "at least 1", lambda: make(delays=None) and troupe.VectorEnv(text=WORLD, num_envs=0, actions=[], observations=[]))


if __name__ == "__main__":
    runner.main(sys.modules[__name__])
