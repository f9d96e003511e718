"""The example environment of tests/examples/python: the same seed gives the same bits, alone and among many; the cart
arrives; and it is one of Gymnasium's where that is installed, for which a module with the same names stands here."""
import importlib
import os
import sys
import types

import runner

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "python")
sys.path.insert(0, EXAMPLES)
reach = importlib.import_module("reach")
RESETS = 100
ACTIONS = [(0.8, 0.1 * i) for i in range(6)]


def play(env, seed):
    """The hashes after a reset and after each action, and the observations."""
    observation, info = env.reset(seed=seed)
    found = [(info["hash"], list(map(float, observation)))]
    for action in ACTIONS:
        observation, reward, terminated, truncated, info = env.step(action)
        found.append((info["hash"], list(map(float, observation)), reward, terminated, truncated))
    return found


def test_a_hundred_resets():
    """Each reset with the seed gives the same bits, and so do the actions after it; another seed gives others."""
    env = reach.Reach()
    first = play(env, 7)
    for i in range(RESETS - 1):
        assert play(env, 7) == first, "reset %d" % (i + 2)
    assert play(env, 8)[0] != first[0]
    assert len({found[0] for found in first}) == len(first), "each action changes the state"
    env.close()
    other = reach.Reach()
    assert play(other, 7) == first, "another environment"
    other.close()


def test_seeds_go_on():
    """Without a seed the next episode differs, and is the same in each series."""
    series = []
    for _ in range(2):
        env = reach.Reach()
        env.reset(seed=3)
        series.append([env.reset()[1]["hash"] for _ in range(3)])
        env.close()
    assert series[0] == series[1] and len(set(series[0])) == 3


def test_many_at_once():
    """Environment i of many has the bits of a single one with seed + i, also over the end of an episode."""
    count, actions, before = 6, 25, reach.ACTIONS_MAX
    reach.ACTIONS_MAX = 15
    many = reach.ReachVector(count, threads=3)
    observations, infos = many.reset(seed=20)
    singles, ended = [reach.Reach() for _ in range(count)], [False] * count
    found = [env.reset(seed=20 + i) for i, env in enumerate(singles)]
    ends = 0
    for k in range(actions + 1):
        assert [info["hash"] for _, info in found] == infos["hash"], "after %d actions" % k
        assert [list(o) for o, _ in found] == [list(o) for o in observations]
        chosen = [reach.drive(o) for o in observations]
        observations, rewards, terminated, truncated, infos = many.step(chosen)
        for i, env in enumerate(singles):
            if ended[i]:
                found[i], ended[i] = env.reset(), False
                assert float(rewards[i]) == 0 and not terminated[i] and not truncated[i]
            else:
                observation, reward, t, u, info = env.step(chosen[i])
                found[i], ended[i] = (observation, info), t or u
                assert abs(reward - float(rewards[i])) < 1e-6 and (t, u) == (terminated[i], truncated[i])
        ends += sum(ended)
    assert ends >= count, "episodes ended and began again"
    many.close()
    for env in singles:
        env.close()
    reach.ACTIONS_MAX = before


def test_the_cart_arrives():
    """The observation leads a simple controller to the goal, and the rewards are the way that it came nearer."""
    env = reach.Reach()
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        begun, total = env.episode.distance, 0.0
        for _ in range(reach.ACTIONS_MAX):
            observation, reward, terminated, truncated, info = env.step(reach.drive(observation))
            total += reward
            if terminated or truncated:
                break
        assert terminated and not truncated and env.episode.distance < reach.NEAR_M
        assert abs(total - (begun - env.episode.distance)) < 1e-9
    observation, _ = env.reset(seed=0)
    for i in range(reach.ACTIONS_MAX):
        ended = env.step((0, 0))[2:4]
    assert ended == (False, True), "an episode without an end is cut off"
    env.close()


def test_with_gymnasium():
    """It registers, derives from gymnasium.Env, hands seeds on, and has spaces."""
    class Env:
        def reset(self, *, seed=None, options=None):
            self.seeded = seed

    fake, made = types.ModuleType("gymnasium"), {}
    fake.Env, fake.register = Env, lambda name, entry_point: made.update({name: entry_point})
    fake.spaces = types.SimpleNamespace(Box=lambda low, high, shape, dtype: (low, high, shape))
    if reach.numpy is None:
        raise runner.Skip("no numpy, which gymnasium needs")
    if reach.gymnasium is None:
        sys.modules["gymnasium"] = fake
    module = importlib.reload(reach)
    if module.gymnasium is fake:
        assert made == {"troupe/Reach-v0": module.Reach}
        env = module.Reach()
        observation, _ = env.reset(seed=7)
        assert isinstance(env, Env) and env.seeded == 7
        assert env.action_space == (-1, 1, (2,)) and env.observation_space[2] == observation.shape
    else:
        env = module.gymnasium.make("troupe/Reach-v0")
        observation, _ = env.reset(seed=7)
        assert env.observation_space.contains(observation)
    env.close()


if __name__ == "__main__":
    runner.main(sys.modules[__name__])
