"""Models, links, joints and sensors by their handles, alone and in groups."""

import math
from ctypes import byref, c_uint64

from ._library import _Error, _JointState, _LinkState, _ModelState, _NONE, _Odometry, _Pose, _Reading, _lib
from ._values import (Error, JointState, Pose, Reading, Twist, _Table, _check, _exactly, _found, _name, _unknown,
                      _vectors, _when, _whole)


class _Thing:
    """What has a handle."""

    def __init__(self, world, handle, name):
        self.world = world
        self.name = name
        self._handle = handle

    def __repr__(self):
        return "<%s '%s'>" % (type(self).__name__, self.name)

    def _gone(self):
        return Error("EINVAL", "%s '%s' does not exist any more" % (type(self).__name__.lower(), self.name))

    def _give(self, function, step, *arguments):
        error, bound = _Error(), c_uint64()
        _check(function(self.world._any(), _when(step), self._handle, *arguments, byref(bound), byref(error)), error)
        return bound.value


class Model(_Thing):
    """A model by its handle, which is valid for as long as the model exists. command_...() return the step for which
    the command was accepted: the next one, or `step`."""

    def __init__(self, world, handle, name):
        super().__init__(world, handle, name)
        self._state = _ModelState()

    def _read(self):
        if not _lib.troupe_get_model(self.world._use(), self._handle, self._state):
            raise self._gone()
        return self._state

    @property
    def exists(self):
        return _lib.troupe_get_model(self.world._use(), self._handle, self._state)

    @property
    def pose(self):
        """Of the model's frame in the world: a Pose."""
        return Pose(*self._read().pose)

    @property
    def twist(self):
        """Velocity of this frame: a Twist."""
        return Twist(*self._read().twist)

    @property
    def asleep(self):
        return self._read().asleep

    @property
    def odometry(self):
        """x, y, yaw, linear and angular of dead reckoning: a dict; None: the model has no such system."""
        found = _Odometry()
        if not _lib.troupe_get_odometry(self.world._use(), self._handle, found):
            self._read()  # a model that does not exist any more
            return None
        return {name: getattr(found, name) for name, _ in _Odometry._fields_[1:]}

    def link(self, name):
        """A Link by its name in the model. UnknownName, a KeyError: there is none."""
        found = _lib.troupe_find_link(self.world._use(), self._handle, _name(name))
        return Link(self.world, _found(found, "link", name, lambda: self._names("links")), name)

    def _about(self):
        self._read()  # a model that does not exist any more
        return next(about for about in self.world.scene(self._handle.world)["models"] if about["name"] == self.name)

    def _names(self, parts):
        return [part["name"] for part in self._about()[parts]]

    def joint(self, name):
        """A Joint by its name in the model. UnknownName, a KeyError: there is none."""
        found = _lib.troupe_find_joint(self.world._use(), self._handle, _name(name))
        return Joint(self.world, _found(found, "joint", name, lambda: self._names("joints")), name)

    def joints(self, names=None):
        """Joints of the model as one group; names: of all joints, if None."""
        return Joints([self.joint(name) for name in (self._names("joints") if names is None else names)])

    def sensor(self, name):
        """A Sensor by its name with its link or joint ("base::imu"). UnknownName, a KeyError: there is none."""
        found = _lib.troupe_find_sensor(self.world._use(), self._handle, _name(name))
        return Sensor(self, _found(found, "sensor", name, lambda: self._names("sensors")), name)

    def command_twist(self, linear=(0, 0, 0), angular=(0, 0, 0), step=None):
        """A twist for the system that drives the model (DiffDrive, VelocityControl): x, y, z in m/s and in rad/s."""
        return self._give(_lib.troupe_command_twist, step, _vectors(linear, angular))

    def command_pose(self, pose, step=None):
        """Places the model: x, y, z and the quaternion w, x, y, z. Its velocities do not change."""
        return self._give(_lib.troupe_command_pose, step, _Pose(*_exactly(pose, 7)))

    def command_velocity(self, linear=(0, 0, 0), angular=(0, 0, 0), step=None):
        """Sets the velocity of the model, which moves as one rigid whole from then on."""
        return self._give(_lib.troupe_command_velocity, step, _vectors(linear, angular))


class Link(_Thing):
    """A link by its handle."""

    def _read(self):
        state = _LinkState()
        if not _lib.troupe_get_link(self.world._use(), self._handle, state):
            raise self._gone()
        return state

    @property
    def pose(self):
        return Pose(*self._read().pose)

    @property
    def twist(self):
        return Twist(*self._read().twist)

    def command_wrench(self, force=(0, 0, 0), torque=(0, 0, 0), step=None):
        """Force (N) and torque (N m) during one step, in the world's axes, at the centre of mass."""
        return self._give(_lib.troupe_command_wrench, step, _vectors(force, torque))


class Joint(_Thing):
    """A joint by its handle."""

    def state(self, axis=0):
        """The JointState of an axis."""
        found = _JointState()
        if not _lib.troupe_get_joint(self.world._use(), self._handle, found):
            raise self._gone()
        axis = _whole("axis", axis, len(found.position) - 1)
        return JointState(found.position[axis], found.velocity[axis], found.effort[axis])

    @property
    def position(self):
        return self.state().position

    @property
    def velocity(self):
        return self.state().velocity

    def command(self, number, step=None):
        """A number for the system that drives the joint: a speed for JointController, a position for
        JointPositionController, a force or torque for ApplyJointForce."""
        return self._give(_lib.troupe_command_joint, step, number)

    def command_state(self, position=math.nan, velocity=math.nan, axis=0, step=None):
        """Sets the position, the velocity or both; what hangs on the joint moves with it."""
        return self._give(_lib.troupe_command_joint_state, step, _whole("axis", axis, _NONE), position, velocity)


_MAIN_TYPES = {"LaserScan", "Image"}


class Sensor(_Thing):
    """A sensor by its handle. It measures while it is held, or while one of its topics has a subscriber."""

    def __init__(self, model, handle, name, about=None):
        super().__init__(model.world, handle, name)
        self.model = model
        self._held = False
        self._clients = []
        self._last = {}  # "LaserScan", "picture", "depth": the last message
        if about is None:
            short = name[len(model.name) + 2:] if name.startswith(model.name + "::") else name
            about = next(each for each in model._about()["sensors"] if each["name"] in (name, short))
        self.type, self.rate, self.names = about["type"], about["rate"], about["numbers"]

    def hold(self, on=True):
        """From the next step on it measures, for `reading`, whether its topics have subscribers or not."""
        held = _lib.troupe_hold_sensor(self.world._use(), self._handle, on)
        for client in self._clients:
            client.close()
        self._clients, self._last = [], {}
        if on:
            self._clients = [self.world.subscribe(topic, depth=4) for topic, found in self.topics.items()
                             if found.split(".")[-1] in _MAIN_TYPES]
        if not held and not (self._clients and on):
            raise Error("EINVAL", "sensor '%s': expected one that exists and is simulated" % self.name)
        self._held = on
        return self

    @property
    def reading(self):
        """The last sample: a Reading with the sensor's numbers by name, and with ranges and angles of a lidar, or the
        picture of a camera. None: it has not measured yet. The first use of it holds the sensor, as hold() does."""
        if not self._held:
            self.model._read()  # a model that does not exist any more
            self.hold()
        found, last = _Reading(), self._last
        given = _lib.troupe_get_sensor(self.world._use(), self._handle, found)
        for client in self._clients:
            for message in client:
                last[message._what()] = message
        if not given and not last:
            self.model._read()
            return None
        main = next(iter(last.values()), None)
        step, time_s = (found.step, found.time_s) if given else (main.step, main.time)
        numbers = dict(zip(self.names, found.numbers)) if given else {}
        ranges, angles, vertical = last["scan"]._ranges() if "scan" in last else (None, None, None)
        pictures = [last[what].array() if what in last else None for what in ("picture", "depth")]
        return Reading(step, time_s, numbers, ranges, angles, vertical, *pictures)

    @property
    def topics(self):
        """The names of the sensor's topics, with the types of their messages: a dict."""
        full = "sensor '%s'" % (self.name if self.name.startswith(self.model.name + "::")
                                else "%s::%s" % (self.model.name, self.name))
        return {topic["name"]: topic["type"] for topic in self.world.topics()
                if topic["owner"] == full and topic["kind"] == "published"}

    def subscribe(self, type=None, rate=0.0, depth=4):
        """A Client for the sensor's messages of this type ("LaserScan"); None: its only topic, or its first one that is
        not a point cloud or the parameters of a camera."""
        topics = self.topics
        for name, found in topics.items():
            if type is None and found.split(".")[-1] in ("PointCloudPacked", "CameraInfo", "PerformanceSensorMetrics"):
                continue
            if type is None or found.split(".")[-1] == type.split(".")[-1]:
                return self.world.subscribe(name, rate, depth)
        raise _unknown("EINVAL", "sensor '%s' has no topic of type %s" % (self.name, type), str(type), topics.values())


class _Group:
    """Things of one world and one kind, read and commanded in one call."""

    def __init__(self, things):
        self.things = list(things)
        if not self.things:
            raise ValueError("no models, links or joints: expected at least one")
        self.world = self.things[0].world
        if any(thing.world is not self.world for thing in self.things):
            raise ValueError("things of several worlds: expected things of one world")
        self.names = [thing.name for thing in self.things]
        self._handles = (type(self.things[0]._handle) * len(self.things))(*(thing._handle for thing in self.things))
        self._error = _Error()

    def __len__(self):
        return len(self.things)

    def __getitem__(self, i):
        return self.things[i]

    def _give_all(self, function, table, values, step):
        if values is not None:
            table.take(values)
        _check(function(self.world._any(), _when(step), self._handles, len(self.things), table.at, self._error),
               self._error)


class _Bodies(_Group):
    """What models and links have in common: poses, twists, and commands of six numbers each."""

    def __init__(self, things):
        super().__init__(things)
        self._poses, self._twists = _Table(len(self.things), 7), _Table(len(self.things), 6)
        self._commands = _Table(len(self.things), 6)
        self.poses, self.twists, self.commands = self._poses.view, self._twists.view, self._commands.view
        self.read()

    def read(self):
        """Writes the present state into `poses` and `twists`; returns how many exist. Numbers of others are NAN."""
        return self._get(self.world._use(), self._handles, len(self.things), self._poses.at, self._twists.at)


class Models(_Bodies):
    """Models as a group. After read(): poses, a view of n rows x y z qw qx qy qz; twists: vx vy vz wx wy wz."""

    _get = staticmethod(_lib.troupe_get_models)

    def command_twists(self, twists=None, step=None):
        """A twist for the system that drives each model: n rows, or what was written to the view `commands`."""
        self._give_all(_lib.troupe_command_twists, self._commands, twists, step)


class Links(_Bodies):
    """Links as a group. After read(): poses and twists, as in Models."""

    _get = staticmethod(_lib.troupe_get_links)

    def command_wrenches(self, wrenches=None, step=None):
        """A force and a torque for each link during one step: n rows, or the view `commands`."""
        self._give_all(_lib.troupe_command_wrenches, self._commands, wrenches, step)


class Joints(_Group):
    """Joints as a group. After read(): states, a view of n x 3 x 2 numbers: position, velocity, effort of two axes."""

    def __init__(self, joints):
        super().__init__(joints)
        self._states, self._commands = _Table(len(self.things), 3, 2), _Table(len(self.things))
        self.states, self.commands = self._states.view, self._commands.view
        self.read()

    def read(self):
        """Writes the present state into `states`; returns how many exist. Numbers of others are NAN."""
        return _lib.troupe_get_joints(self.world._use(), self._handles, len(self.things), self._states.at)

    def command(self, numbers=None, step=None):
        """A number for the system that drives each joint: n numbers, or the view `commands`."""
        self._give_all(_lib.troupe_command_joints, self._commands, numbers, step)
