"""An environment for learning: a cart drives to a point. It has the shape of Gymnasium's environments, and is one where
gymnasium is installed ("troupe/Reach-v0", after `import reach`); it works without gymnasium and without numpy.

    env = reach.Reach()
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step((0.5, 0.1))

    envs = reach.ReachVector(16)          the same, many at once, on all cores
    observations, infos = envs.reset(seed=7)
    observations, rewards, terminated, truncated, infos = envs.step([(0.5, 0.1)] * 16)

An action is a speed ahead and a turn, each -1 .. 1. An observation is the goal in the cart's frame (m), the speed and the
turn of the cart. A reset takes the state that was saved when the environment was made, and places the goal and the cart
by the seed: so the same seed and the same actions give the same bits, which info["hash"] shows."""
import math
import random

import troupe

try:
    import numpy
except ImportError:
    numpy = None
try:
    import gymnasium
except ImportError:
    gymnasium = None

WORLD = """<sdf version="1.9"><world name="reach">
<physics name="p" type="ode"><max_step_size>0.005</max_step_size></physics>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision>
</link></model><include><uri>models/cart</uri><name>cart</name></include></world></sdf>"""
STEPS = 20           # of the world for each action: 0.1 s
ACTIONS_MAX = 200    # of an episode
SPEED, TURN = 1.0, 1.5  # m/s and rad/s of an action of 1
NEAR_M = 0.25
SPACE = 1.0e3        # bound of observations


def rows(values):
    """What users of numpy expect, where it is installed."""
    return values if numpy is None else numpy.array(values, dtype=numpy.float32)


class Episode:
    """One run of the world to a goal. The environments below have one each, and step its world."""

    def __init__(self, state, seed):
        self.world = troupe.World(state=state, secondaries=0)
        self.cart = self.world.model("cart")
        self.random = random.Random(seed)
        self.goal = [self.random.uniform(-3, 3) for _ in range(2)]
        yaw = self.random.uniform(-math.pi, math.pi)
        pose = self.cart.pose
        self.cart.command_pose((0, 0, pose.z, math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)))
        self.actions = 0
        self.world.step()
        self.distance = self.look()[0]

    def look(self):
        """The distance to the goal, and the observation."""
        pose, twist = self.cart.pose, self.cart.twist
        yaw = 2 * math.atan2(pose.qz, pose.qw)
        c, s = math.cos(yaw), math.sin(yaw)
        dx, dy = self.goal[0] - pose.x, self.goal[1] - pose.y
        return math.hypot(dx, dy), (c * dx + s * dy, c * dy - s * dx, c * twist.vx + s * twist.vy, twist.wz)

    def command(self, action):
        ahead, turn = (max(-1.0, min(1.0, float(number))) for number in action)
        self.cart.command_twist((SPEED * ahead, 0, 0), (0, 0, TURN * turn))
        self.actions += 1

    def judge(self):
        """After the steps of an action: observation, reward, terminated, truncated."""
        distance, observation = self.look()
        reward, self.distance = self.distance - distance, distance
        return observation, reward, distance < NEAR_M, self.actions >= ACTIONS_MAX

    def info(self):
        return {"hash": self.world.hash, "time": self.world.time}


def begin():
    """The state with which all episodes begin."""
    with troupe.World(text=WORLD, secondaries=0) as world:
        world.step(100)
        return world.save()


class Reach(gymnasium.Env if gymnasium else object):
    """One environment."""

    metadata = {"render_modes": []}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.state, self.episode, self.seeds = begin(), None, random.Random()
        if gymnasium:
            self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), numpy.float32)
            self.observation_space = gymnasium.spaces.Box(-SPACE, SPACE, (4,), numpy.float32)

    def reset(self, *, seed=None, options=None):
        if gymnasium:
            super().reset(seed=seed)
        if seed is not None:
            self.seeds = random.Random(seed)
        self.close()
        self.episode = Episode(self.state, self.seeds.getrandbits(64))
        return rows(self.episode.look()[1]), self.episode.info()

    def step(self, action):
        self.episode.command(action)
        self.episode.world.step(STEPS)
        observation, reward, terminated, truncated = self.episode.judge()
        return rows(observation), reward, terminated, truncated, self.episode.info()

    def close(self):
        if self.episode:
            self.episode.world.close()
            self.episode = None


class ReachVector:
    """Many environments, whose worlds are stepped at once on all cores. An environment whose episode has ended begins a
    new one at the next step, without regard to the action (in Gymnasium: AutoresetMode.NEXT_STEP)."""

    def __init__(self, num_envs, threads=0):
        self.num_envs = num_envs
        self.state, self.pool = begin(), troupe.Pool(threads)
        self.episodes, self.seeds, self.ended = [], [], [False] * num_envs

    def reset(self, *, seed=None, options=None):
        """seed: environment i has the seed seed + i."""
        self.close_episodes()
        self.seeds = [random.Random(None if seed is None else seed + i) for i in range(self.num_envs)]
        self.episodes = [Episode(self.state, seeds.getrandbits(64)) for seeds in self.seeds]
        self.ended = [False] * self.num_envs
        return rows([episode.look()[1] for episode in self.episodes]), self.infos()

    def infos(self):
        return {"hash": [episode.world.hash for episode in self.episodes]}

    def step(self, actions):
        going = []
        for i, action in enumerate(actions):
            if self.ended[i]:
                self.episodes[i].world.close()
                self.episodes[i] = Episode(self.state, self.seeds[i].getrandbits(64))
            else:
                self.episodes[i].command(action)
                going.append(self.episodes[i].world)
        self.pool.step(going, STEPS)
        results = [(episode.look()[1], 0.0, False, False) if self.ended[i] else episode.judge()
                   for i, episode in enumerate(self.episodes)]
        observations, rewards, terminated, truncated = (list(column) for column in zip(*results))
        self.ended = [a or b for a, b in zip(terminated, truncated)]
        return rows(observations), rows(rewards), terminated, truncated, self.infos()

    def close_episodes(self):
        for episode in self.episodes:
            episode.world.close()
        self.episodes = []

    def close(self):
        self.close_episodes()
        self.pool.close()


def drive(observation):
    """A controller that is not learnt: turns to the goal, and drives when it is ahead."""
    x, y = float(observation[0]), float(observation[1])
    aside = math.atan2(y, x)
    return (1.0 if abs(aside) < 0.5 else 0.0), max(-1.0, min(1.0, 2 * aside))


if gymnasium:
    gymnasium.register("troupe/Reach-v0", entry_point=Reach)

if __name__ == "__main__":
    env = Reach()
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        terminated = truncated = False
        total = 0.0
        while not terminated and not truncated:
            observation, reward, terminated, truncated, info = env.step(drive(observation))
            total += reward
        print("seed %d: %s after %.1f s, %.2f m nearer, hash %016x"
              % (seed, "there" if terminated else "not there", info["time"], total, info["hash"]))
    env.close()
