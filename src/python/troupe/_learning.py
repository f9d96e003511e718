"""Environments for learning, in the shapes of Gymnasium and PettingZoo, neither of which is needed."""

import ctypes
import functools
import itertools
import math
import operator
import os
import random
import xml.etree.ElementTree as ElementTree
from ctypes import byref, c_bool, c_uint32, c_uint8, c_void_p

from ._library import _INT_MAX, _PART_KINDS, _PART_NUMBERS, _Part, _STEPS_MAX, _Sensor, _Turn, _lib
from ._values import Error, _Table, _flatten, _numpy, _whole
from ._world import World
from ._pool import Pool, _Batch

_TWIST_WORDS = ["vx", "vy", "vz", "wx", "wy", "wz"]
_POSE_WORDS = ["x", "y", "z", "qw", "qx", "qy", "qz"]
_WRENCH_WORDS = ["fx", "fy", "fz", "tx", "ty", "tz"]
_JOINT_WORDS = ["position", "velocity", "effort", "position2", "velocity2", "effort2"]
_AUTORESETS = {"next_step": "NEXT_STEP", "same_step": "SAME_STEP", "disabled": "DISABLED"}


def _action_of(world, model, part, word):
    """What a column commands: the kind of its part, the handle, and which of its numbers."""
    if not part and word in _TWIST_WORDS:
        return "twist", model._handle, _TWIST_WORDS.index(word)
    if part and word in _WRENCH_WORDS:
        return "wrench", model.link(part)._handle, _WRENCH_WORDS.index(word)
    if part and word == "command":
        return "joint", model.joint(part)._handle, 0
    return None


def _observation_of(world, model, part, word):
    """The same of a column that is observed. A sensor measures from now on."""
    if not part:
        for kind, words in (("pose", _POSE_WORDS), ("twist", _TWIST_WORDS)):
            if word in words:
                return kind, model._handle, words.index(word)
        return None
    about = model._about()
    if part in [link["name"] for link in about["links"]]:
        for kind, words in (("link pose", _POSE_WORDS), ("link twist", _TWIST_WORDS)):
            if word in words:
                return kind, model.link(part)._handle, words.index(word)
    elif part in [joint["name"] for joint in about["joints"]] and word in _JOINT_WORDS:
        return "joint", model.joint(part)._handle, _JOINT_WORDS.index(word)
    elif part in [sensor["name"] for sensor in about["sensors"]]:
        sensor = model.sensor(part).hold()
        numbers = next(each["numbers"] for each in about["sensors"] if each["name"] == part)
        return ("sensor", sensor._handle, numbers.index(word)) if word in numbers else None
    return None


def _parts_of(world, columns, find, expected):
    """Columns ("cart.vx", "arm/elbow.position") as parts of a turn: neighbours of one thing are one part."""
    parts = []
    for column in columns:
        left, dot, word = column.rpartition(".")
        name, slash, part = left.partition("/")
        if not dot or not name or (slash and not part):
            raise ValueError("%r: expected MODEL.QUANTITY or MODEL/PART.QUANTITY" % (column,))
        found = find(world, world.model(name), part, word)
        if found is None:
            raise ValueError("%r: expected %s" % (column, expected))
        kind, handle, which = _PART_KINDS.index(found[0]), _Sensor(), found[2]
        ctypes.memmove(byref(handle), byref(found[1]), ctypes.sizeof(found[1]))
        last = parts[-1] if parts else None
        if last is not None and last.kind == kind and bytes(last.handle) == bytes(handle) and last.count < _PART_NUMBERS:
            last.which[last.count] = which
            last.count += 1
        else:
            parts.append(_Part(kind, handle, 1, (c_uint8 * _PART_NUMBERS)(which)))
    return (_Part * len(parts))(*parts)


def _varied(text, parameters, i):
    """The SDF with the values that world i has. A path is one of ElementTree, from <world> on; plain elements at its end
    that are missing are made."""
    root = ElementTree.fromstring(text)
    for path, values in parameters.items():
        above = root.find("world")
        element = above.find(path) if above is not None else None
        rest, missing = path, []
        while element is None and "/" in rest:
            rest, _, tag = rest.rpartition("/")
            missing.insert(0, tag)
            element = above.find(rest)
        if element is None or not all(tag.isidentifier() for tag in missing):
            raise ValueError("parameters: %r: expected the path of an element in <world>" % (path,))
        for tag in missing:
            element = ElementTree.SubElement(element, tag)
        value = values[i]
        element.text = value if isinstance(value, str) else repr(float(value))
    return ElementTree.tostring(root, encoding="unicode")


def _bools(values):
    numpy = _numpy()
    return numpy.array(values, dtype=bool) if numpy is not None else list(values)


def _one_each(name, values, count):
    values = list(values)
    if len(values) != count:
        raise ValueError("%s: %d values: expected %d, one for each world" % (name, len(values), count))
    return values


class VectorEnv:
    """Many runs of a world as one environment, in the shape of Gymnasium's vector environments; gymnasium and numpy are not
    needed. All commands, steps and observations of a call of step() are one call of the library, on all cores.

    path, text      the world, as for World
    num_envs        how many
    actions         columns: "MODEL.vx" (... wz: for the system that drives the model), "MODEL/JOINT.command" (for the system
                    that drives the joint), "MODEL/LINK.fx" (... tz: a wrench)
    observations    columns: "MODEL.x" (... qz, vx ... wz), "MODEL/LINK.x", "MODEL/JOINT.position" (velocity, effort),
                    "MODEL/SENSOR.range": the numbers of World.sensors()
    steps           of the world for each action
    reward(env)     one number for each world, after its steps; None: 0
    ended(env)      one truth for each world: the episode has come to its end (terminated); None: never
    episode         actions of an episode, then it is truncated; 0: no limit
    begin(world, random)    called with each world when an episode begins: it may place and spawn things, and take steps. random
                    is a random.Random of the episode's seed
    parameters      {path in <world>: one value for each world}: masses, frictions, noise, delays of plug-ins, whatever is
                    written in the SDF: "model[@name='box']/link/inertial/mass"
    delays          one number for each world: so many steps later its commands take effect
    autoreset       "next_step", "same_step" or "disabled", as Gymnasium's AutoresetMode
    record          a folder: each episode is recorded there, as env_I_episode_K, for `troupe replay`, bisect and view
    options         more arguments of World, such as efforts=True

    actions, observations and previous (those before the last step) are views of memory that belongs to this object, with a
    row for each world; step() returns the same view. seeds has the seed of each world's present episode: the first one
    has seed + i, and a World with this seed and the same commands has the same bits."""

    def __init__(self, path=None, num_envs=1, *, text=None, actions, observations, steps=1, reward=None, ended=None,
                 episode=0, begin=None, parameters=None, delays=None, autoreset="next_step", threads=0, record=None,
                 low=-1.0, high=1.0, **options):
        if autoreset not in _AUTORESETS:
            raise ValueError("autoreset: %r: expected %s" % (autoreset, ", ".join(map(repr, _AUTORESETS))))
        if num_envs < 1 or steps < 1:
            raise ValueError("num_envs and steps: expected at least 1")
        episode = _whole("episode", episode)
        self.num_envs, self.steps, self.autoreset, self.episode_actions = num_envs, steps, autoreset, episode
        self.action_columns, self.observation_columns = list(actions), list(observations)
        self._reward, self._ended, self._begin, self._record = reward, ended, begin, record
        self._low, self._high = low, high
        self._options = dict(options, secondaries=0)
        self._path, self._texts = path, self._texts_of(path, text, parameters or {})
        self._pool = Pool(threads)
        self.worlds, self.seeds = [None] * num_envs, [0] * num_envs
        self._randoms, self._episodes = [None] * num_envs, [0] * num_envs
        self._count, self._began = 0, [0] * num_envs  # actions so far, and when each episode began
        self._batch = None
        self._over, self._nobody = [False] * num_envs, [False] * num_envs
        self._tables = [_Table(num_envs, len(self.action_columns))] + [
            _Table(num_envs, len(self.observation_columns)) for _ in range(2)]
        self.actions, self.observations, self.previous = (table.view for table in self._tables)
        self._rests = (c_bool * num_envs)()
        self._delays = None if delays is None else (c_uint32 * num_envs)(
            *(_whole("delays", delay, _INT_MAX) for delay in _one_each("delays", delays, num_envs)))
        self._parts = None

    def _texts_of(self, path, text, parameters):
        for name, values in parameters.items():
            _one_each("parameters: %r" % (name,), values, self.num_envs)
        if not parameters:
            return [text] * self.num_envs
        if text is None:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        return [_varied(text, parameters, i) for i in range(self.num_envs)]

    # Gymnasium's attributes

    @property
    def metadata(self):
        try:
            from gymnasium.vector import AutoresetMode
        except ImportError:
            return {"autoreset_mode": _AUTORESETS[self.autoreset]}
        return {"autoreset_mode": getattr(AutoresetMode, _AUTORESETS[self.autoreset])}

    def _space(self, low, high, *shape):
        import gymnasium  # only who asks for spaces needs it
        import numpy
        return gymnasium.spaces.Box(low, high, shape, numpy.float64)

    @property
    def single_action_space(self):
        return self._space(self._low, self._high, len(self.action_columns))

    @property
    def action_space(self):
        return self._space(self._low, self._high, self.num_envs, len(self.action_columns))

    @property
    def single_observation_space(self):
        return self._space(-math.inf, math.inf, len(self.observation_columns))

    @property
    def observation_space(self):
        return self._space(-math.inf, math.inf, self.num_envs, len(self.observation_columns))

    # episodes

    def _find_parts(self, world):
        return (_parts_of(world, self.action_columns, _action_of, "vx ... wz of a model, command of a joint, or fx ... tz of a link"),
                _parts_of(world, self.observation_columns, _observation_of, "a quantity that the model or its part has"))

    def _new_episodes(self, chosen):
        """These worlds anew."""
        for i in chosen:
            if self.worlds[i] is not None:
                self.worlds[i].close()
                self.worlds[i] = None
                self.seeds[i] = self._randoms[i].getrandbits(63)
        for i, world in zip(chosen, self._pool._make([functools.partial(self._world, i) for i in chosen])):
            self.worlds[i] = world
        for i in chosen:
            self._begin_episode(i)

    def _world(self, i, made):
        record = None
        if self._record is not None:
            record = os.path.join(self._record, "env_%d_episode_%d" % (i, self._episodes[i]))
        return World(self._path, text=self._texts[i], seed=self.seeds[i], record=record, _made=made, **self._options)

    def _begin_episode(self, i):
        world = self.worlds[i]
        parts = self._find_parts(world)
        if self._parts is None:
            self._parts = parts
        elif bytes(parts[0]) + bytes(parts[1]) != bytes(self._parts[0]) + bytes(self._parts[1]):
            raise Error("EINVAL", "world %d has other models than world 0: expected the same" % i)
        self._episodes[i] += 1
        self._began[i], self._over[i], self._batch = self._count, False, None
        if self._begin is not None:
            self._begin(world, random.Random(self.seeds[i]))

    def _seeds_of(self, seed):
        """For each world, None: it goes on from its last one."""
        if seed is None:
            return [None] * self.num_envs
        if hasattr(seed, "__iter__"):
            return [None if each is None else _whole("seed", each, _STEPS_MAX)
                    for each in _one_each("seed", seed, self.num_envs)]
        return [_whole("seed", seed, _STEPS_MAX >> 1) + i for i in range(self.num_envs)]

    def reset(self, *, seed=None, options=None):
        """Begins an episode in all worlds, or in those that options["reset_mask"] chooses. World i has the seed seed + i;
        without a seed they go on from the last one. seed may also have one number, or None, for each world. Returns the
        observations and {"seed": [...]}."""
        mask = (options or {}).get("reset_mask")
        mask = [True] * self.num_envs if mask is None else _one_each("reset_mask", mask, self.num_envs)
        chosen = list(itertools.compress(range(self.num_envs), mask))
        if not chosen:
            raise ValueError("reset_mask: expected at least one world to be chosen")
        seeds = self._seeds_of(seed)
        if any(self.worlds[i] is None for i in range(self.num_envs) if i not in chosen):
            raise ValueError("reset_mask: expected a reset of all worlds first")
        for i in chosen:
            if seeds[i] is not None or self._randoms[i] is None:
                first = random.getrandbits(62) if seeds[i] is None else seeds[i]
                if self.worlds[i] is not None:
                    self.worlds[i].close()
                    self.worlds[i] = None
                self.seeds[i], self._randoms[i] = first, random.Random(first)
        self._new_episodes(chosen)
        self._turn([True] * self.num_envs)
        return self.observations, {"seed": list(self.seeds)}

    # steps

    def _turn(self, rests):
        """Commands, steps and observations in one call; worlds that rest are observed only. rests None: none does."""
        if self._batch is None:
            self._batch = _Batch(list(self.worlds))
            actions, observed, _ = self._tables
            self._about = _Turn(self._batch.servers, self.num_envs, self.steps, self._parts[0], self._parts[1],
                                len(self._parts[0]), len(self._parts[1]), ctypes.cast(actions.at, c_void_p), self._delays,
                                self._rests, ctypes.cast(observed.at, c_void_p))
        self._about.steps = self.steps
        self._rests[:] = rests if rests is not None else self._nobody
        self._pool._round(self._batch, self._call)

    def _call(self, pool, worlds, servers, errors, error):
        return _lib.troupe_pool_turn(pool, byref(self._about), errors, byref(error))

    def step(self, actions=None):
        """One action of each world: rows of numbers, or what was written to the view `actions`. Returns observations,
        rewards, terminations, truncations and infos. A world whose episode is over begins a new one, as `autoreset` says."""
        if any(world is None for world in self.worlds):
            raise Error("EINVAL", "step() before reset(): expected reset() first")
        if actions is not None:
            self._tables[0].take(actions)
        memoryview(self._tables[2].memory)[:] = self._tables[1].memory
        over = any(self._over)
        if over and self.autoreset == "disabled":
            raise Error("EINVAL", "an episode is over: expected reset(), of all worlds or with a reset_mask")
        self._count += 1
        begins = list(self._over) if over and self.autoreset == "next_step" else None
        if begins:
            self._new_episodes([i for i in range(self.num_envs) if begins[i]])
        self._turn(begins)
        rewards, terminated, truncated = self._judge(begins or self._nobody)
        infos = {}
        self._over = list(map(operator.or_, terminated, truncated))
        if self.autoreset == "same_step" and any(self._over):
            infos = {"final_obs": self._rows_of(self._over), "_final_obs": _bools(self._over)}
            self._new_episodes([i for i in range(self.num_envs) if self._over[i]])
            self._turn([True] * self.num_envs)
        return self.observations, rewards, _bools(terminated), _bools(truncated), infos

    def _rows_of(self, chosen):
        """A copy of the observations of some worlds, None for the others."""
        numpy = _numpy()
        rows = [(self.observations[i].copy() if numpy is not None else self.observations[i].tolist()) if chosen[i] else None
                for i in range(self.num_envs)]
        if numpy is None:
            return rows
        found = numpy.empty(self.num_envs, dtype=object)
        for i, row in enumerate(rows):
            found[i] = row
        return found

    def _judge(self, begins):
        """Rewards and ends; worlds that have just begun have none."""
        rewards = _Table(self.num_envs)
        if self._reward is not None:
            rewards.take(self._reward(self))
        ended = list(map(bool, self._ended(self))) if self._ended is not None else list(self._nobody)
        if len(ended) != self.num_envs:
            raise ValueError("ended(): %d values: expected %d" % (len(ended), self.num_envs))
        limit = self._count - self.episode_actions
        truncated = [began <= limit for began in self._began] if self.episode_actions else list(self._nobody)
        for i in itertools.compress(range(self.num_envs), begins):
            rewards.at[i] = 0.0
            ended[i] = truncated[i] = False
        return rewards.view, ended, truncated

    def close(self):
        """Ends all worlds, also if a recording could not be written whole: then the first error is raised."""
        worlds, self.worlds, self._batch = self.worlds, [None] * self.num_envs, None
        failures = []
        for world in worlds:
            try:
                if world is not None:
                    world.close()
            except Error as why:
                failures.append(why)
        self._pool.close()
        if failures:
            raise failures[0]

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()


class ParallelEnv:
    """One world with several agents, in the shape of PettingZoo's parallel environments; pettingzoo is not needed.

    agents              {name: {"actions": columns, "observations": columns}}, columns as for VectorEnv
    reward(env, agent)  a number, after the steps of an action; ended(env, agent): the agent has come to its end
    the others          as for VectorEnv

    An agent that has come to its end is left out of `agents`, and its commands are 0 from then on; after `episode` actions all
    are truncated. Observations are views of one row of numbers, `env.row`."""

    def __init__(self, path=None, *, agents, reward=None, ended=None, **options):
        self.possible_agents = list(agents)
        self.agents = []
        self._reward_of, self._ended_of = reward, ended
        self._places, columns = {}, ([], [])
        for name, about in agents.items():
            place = []
            for kind, all_columns in zip(("actions", "observations"), columns):
                begin = len(all_columns)
                all_columns.extend(about[kind])
                place.append(slice(begin, len(all_columns)))
            self._places[name] = place
        self._env = VectorEnv(path, 1, actions=columns[0], observations=columns[1], autoreset="disabled", **options)
        self.metadata = {"name": "troupe"}

    @property
    def unwrapped(self):
        return self

    @property
    def num_agents(self):
        return len(self.agents)

    @property
    def max_num_agents(self):
        return len(self.possible_agents)

    @property
    def world(self):
        """The World of the present episode."""
        return self._env.worlds[0]

    @property
    def row(self):
        """All numbers that are observed, those of the agents one after the other."""
        return self._env.observations[0]

    def action_space(self, agent):
        place = self._places[agent][0]
        return self._env._space(self._env._low, self._env._high, place.stop - place.start)

    def observation_space(self, agent):
        place = self._places[agent][1]
        return self._env._space(-math.inf, math.inf, place.stop - place.start)

    def observe(self, agent):
        return self._env.observations[0, self._places[agent][1]]

    def reset(self, seed=None, options=None):
        self._env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return {agent: self.observe(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions):
        """actions: {agent: numbers}, of each agent in `agents`. Five dicts: observations, rewards, terminations,
        truncations, infos."""
        if set(actions) != set(self.agents):
            raise ValueError("actions of %s: expected those of %s" % (sorted(actions), sorted(self.agents)))
        row = [0.0] * len(self._env.action_columns)
        for agent, numbers in actions.items():
            place = self._places[agent][0]
            numbers = list(_flatten(numbers.tolist() if hasattr(numbers, "tolist") else numbers))
            if len(numbers) != place.stop - place.start:
                raise ValueError("action of %s: %d numbers: expected %d" % (agent, len(numbers), place.stop - place.start))
            row[place] = numbers
        _, _, _, truncated, _ = self._env.step([row])
        going = self.agents
        rewards = {agent: float(self._reward_of(self, agent)) if self._reward_of else 0.0 for agent in going}
        ends = {agent: bool(self._ended_of(self, agent)) if self._ended_of else False for agent in going}
        limits = {agent: bool(truncated[0]) for agent in going}
        self.agents = [agent for agent in going if not ends[agent] and not limits[agent]]
        return {agent: self.observe(agent) for agent in going}, rewards, ends, limits, {agent: {} for agent in going}

    def close(self):
        self._env.close()
