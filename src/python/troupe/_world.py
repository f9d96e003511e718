"""A running world: its life, steps, files, topics, commands and changes."""

import ctypes
import json
import math
import os
import time
import weakref
from ctypes import byref, c_double, c_size_t, c_uint32, c_uint64, c_void_p

from ._library import (_Error, _INT_MAX, _Limits, _LogDef, _McapDef, _McapTopic, _OBSERVE_CONTACTS, _OBSERVE_EFFORTS,
                       _PACE_FACTOR, _PACE_WORLD, _SECONDARIES_AUTO, _STEPS_MAX, _TOPIC_KINDS, _free, _lib, _see)
from ._values import (Error, _bytes, _check, _exactly, _found, _list, _name, _plain, _take_text, _unknown, _when,
                      _whole, _world_number, worlds_folder)
from ._owned import _Owned, _taking_steps, _too_late
from ._scene import _contact_list, _model_names, _scene_dict, _world_joint_names
from ._topics import Client, _binary
from ._models import Joint, Model, Models, Sensor


class World:
    """A running world, or all worlds of one file.

    path            an SDF file, or the name of a world ("warehouse")
    text            the SDF itself; path is then only its name in messages
    state           instead of both: bytes of save(), or the path of a saved state
    seed            of all random numbers; a state has its own
    secondaries     threads that simulate the world; None: as many as pay off. No bit depends on it. 0 is best when many
                    worlds are stepped at once
    rtf             real-time factor; 0: as fast as possible; None: the world's own
    resource_paths  folders for model:// and relative names, before that of troupe's own worlds; plugin_paths: folders with libraries of plug-ins
    strict          step() and run() raise an error after a step in which a command failed
    sleepless       models at rest are stepped, too; by_ode: ODE solves all contacts and joints. Both give other bits
    contacts, efforts   observe them, for contacts() and JointState.effort
    record          a file that records the run, for `troupe replay`. It is whole after close(), and when the program ends
                    with or without an exception; if the process is killed, it ends with the last state that was recorded
    record_every    steps between recorded states

    warnings (a list of lines) has what the library had to say about the file."""

    def __init__(self, path=None, *, text=None, state=None, seed=0, secondaries=None, rtf=0.0, resource_paths=(),
                 plugin_paths=(), strict=True, sleepless=False, by_ode=False, sense_all=False, ignore_levels=False, load_all=False,
                 paused=False,
                 initial_time=0.0, contacts=False, efforts=False, record=None, record_every=100, save_folder=None, _made=None):
        """_made: the place of a pointer to the server, which is made later from _definition (Pool._make); it must be NULL
        until then."""
        owned = self._owned = _Owned()
        self.strict = strict
        self._taking = owned.taking
        self._slice = 256  # steps in one call, about
        self._types = (None, {}, {})  # for an epoch of topics: those that take messages, and those that are published
        self._numbers = 0
        self._error = _Error()
        definition = _lib.troupe_server_def_default()
        if state is not None and not isinstance(state, (str, os.PathLike)):
            state = bytes(memoryview(state))
            definition.resume_bytes = state
            definition.resume_count = len(state)
        elif state is not None:
            definition.resume_path = _bytes(state)
        definition.world_path = _bytes(path if path is not None or text is None else "text")
        definition.world_text = _bytes(text)
        definition.seed = _whole("seed", seed)
        definition.secondaries = _SECONDARIES_AUTO if secondaries is None else _whole("secondaries", secondaries, _INT_MAX)
        definition.pace = _PACE_WORLD if rtf is None else _PACE_FACTOR
        definition.rtf = 0.0 if rtf is None else rtf
        folders = [resource_paths] if isinstance(resource_paths, (str, bytes, os.PathLike)) else list(resource_paths)
        definition.resource_paths = _list(folders + [folder for folder in [worlds_folder()] if folder])
        definition.plugin_paths = _list(plugin_paths)
        definition.sleepless = sleepless
        definition.by_ode = by_ode
        definition.sense_all = sense_all
        definition.ignore_levels = ignore_levels
        definition.load_all = load_all
        definition.paused = paused
        definition.initial_time_s = initial_time
        definition.observe = _OBSERVE_CONTACTS * bool(contacts) | _OBSERVE_EFFORTS * bool(efforts)
        definition.record_path = _bytes(record)
        definition.record_every = _whole("record_every", record_every)
        definition.save_folder = _bytes(save_folder)
        definition.on_reply = ctypes.cast(_lib.troupe_inbox_put_reply, c_void_p)
        definition.on_warning = ctypes.cast(_lib.troupe_inbox_put_warning, c_void_p)
        definition.ctx = owned.inbox
        self._definition = definition  # the server keeps its strings
        self._finalizer = weakref.finalize(self, _Owned.end, owned)
        if _made is not None:
            owned.server = _made
        else:
            _check(_lib.troupe_server_create(byref(definition), byref(owned.server), byref(self._error)), self._error)

    # life

    def close(self):
        """Ends the server and its files, and frees its memory. Arrays of numbers stay valid. A second call does nothing."""
        if self._taking.locked():
            raise Error("EINVAL", "the world takes steps: expected close() when it does not")
        with self._taking:
            self._finalizer.detach()
            failed = self._owned.destroy()
        if failed is not None:
            raise failed

    @property
    def closed(self):
        return not self._owned.server

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    def _any(self):
        """The server, for a call that any thread may make."""
        server = self._owned.server
        if not server or self._owned.ends:
            raise _too_late("the world is closed")
        return server

    def _use(self):
        """The server, for a call that only the thread that uses the world may make, between steps. Steps begin with this
        call, then `with self._taking`, where a second thread waits that has come in between. acquire() and `try` would
        not do: a handler of signals may raise an exception between the two, and nobody would release the lock."""
        if self._taking.locked():
            raise _taking_steps()
        return self._any()

    def step(self, n=1):
        """Takes n steps. A failure of the run raises its error, and the last good state stays. A command that failed
        raises an error too, unless strict is False; then all n steps have been taken. Ctrl-C ends it early."""
        n = _whole("n", n)
        if n > self._slice and not self._owned.outputs:
            self.run(min(self.steps + n, _STEPS_MAX))
            return
        self._use()
        with self._taking:
            status = self._step_files(self._any(), n) if self._owned.outputs else \
                _lib.troupe_server_step(self._any(), n, self._error)
            failed = self._owned.failure()
        if status or failed is not None:
            self._after(status, failed)

    def _step_files(self, server, n):
        """One step in each call, because MCAP files and logs look at each state."""
        status = 0
        while n and not status:
            status, n = _lib.troupe_server_step(server, 1, self._error), n - 1
            self._owned.stepped()
            if _lib.troupe_server_was_stopped(server):
                break
        return status

    def run(self, steps=0, until=0.0):
        """Runs until so many steps have been taken since state 0, or until this simulated time; 0: no limit. Ends also
        by stop() and by Ctrl-C."""
        steps, limits = _whole("steps", steps), _Limits(0, until)
        self._use()
        with self._taking:
            status = self._run_slices(self._any(), limits, steps)
            failed = self._owned.failure()
        self._after(status, failed)

    def _run_slices(self, server, limits, steps):
        """The interpreter handles signals only between calls: so a long run is many calls, of some 50 ms each."""
        while True:
            at, begin = _lib.troupe_server_progress(server).steps, time.monotonic()
            most = 1 if self._owned.outputs else self._slice
            limits.iterations = min(steps, at + most) if steps else at + most
            status = _lib.troupe_server_run(server, byref(limits), byref(self._error))
            self._owned.stepped()
            took = time.monotonic() - begin
            ended = _lib.troupe_server_progress(server).steps < limits.iterations or limits.iterations == steps
            if status or ended or _lib.troupe_server_was_stopped(server):
                return status
            self._slice = min(2 * self._slice, 1 << 20) if took < 0.025 else max(self._slice // 2, 1) if took > 0.1 \
                else self._slice

    def _after(self, status, failed):
        """After steps: raises what went wrong in them."""
        _check(status, self._error)
        if failed is not None and self.strict:
            raise failed

    def stop(self):
        """Ends run() or step() at the next step boundary. Any thread."""
        _lib.troupe_server_stop(self._any())

    def save(self, path=None):
        """The present state of all worlds, with their files, as bytes for World(state=...); or into a file. The worlds
        that are made of it go on with the same bits."""
        server = self._use()
        if path is not None:
            _check(_lib.troupe_server_save(server, _bytes(path), byref(self._error)), self._error)
            return None
        at, count = c_void_p(), c_size_t()
        _check(_lib.troupe_server_pack(server, byref(at), byref(count), byref(self._error)), self._error)
        state = ctypes.string_at(at, count.value)
        _free(at)
        return state

    # files

    def mcap(self, path, topics=None, ros=False):
        """Records topics into an MCAP file, from the present state on, as `troupe run --mcap` does. topics: patterns with
        * and ?, also with a rate in Hz ("/model/*/odometry@10"); None: all but pictures, point clouds and statistics. The
        file is whole after close(), or when the program ends. ros: names, types and transforms are those that nodes of
        ROS 2 see, so that the file is a bag."""
        if topics is not None:
            topics = [topics] if isinstance(topics, str) else list(topics)
        rows = (_McapTopic * len(topics or ()))(*(_mcap_topic(topic) for topic in topics or ()))
        definition = _McapDef(_bytes(path), rows if len(rows) else None, len(rows), None,
                              ctypes.cast(_lib.troupe_inbox_put_warning, c_void_p), self._owned.inbox, bool(ros))
        self._add_file(_lib.troupe_mcap_start, _lib.troupe_mcap_step, _mcap_end, definition)

    def log(self, path, what=None, every=0):
        """Writes a table (CSV) of states, from the present one on, as `troupe run --log` does. what: "model", "joint:red",
        "link:red/chassis", "contact", "effort", "sensor:*/imu" ..., separated by commas; None: models, joints and
        odometry. every: steps between samples; 0: 10 ms. The file is whole after close(), or when the program ends."""
        definition = _LogDef(_bytes(path), None if what is None else _name(what), _whole("every", every),
                             ctypes.cast(_lib.troupe_inbox_put_warning, c_void_p), self._owned.inbox)
        observed, error = c_uint32(), _Error()
        _check(_lib.troupe_log_observes(definition.what, byref(observed), byref(error)), error)
        for bit, option in ((_OBSERVE_CONTACTS, "contacts"), (_OBSERVE_EFFORTS, "efforts")):
            if observed.value & bit and not self._definition.observe & bit:
                raise Error("EINVAL", "log: '%s': expected World(%s=True), which observes them" % (what, option))
        self._add_file(_lib.troupe_log_start, _lib.troupe_log_step, _lib.troupe_log_end, definition)

    def _add_file(self, start, step, end, definition):
        pointer, error = c_void_p(), _Error()
        self._use()
        with self._taking:
            _check(start(self._any(), byref(definition), byref(pointer), byref(error)), error)
            self._owned.outputs.append((step, end, pointer, definition))

    # asking

    @property
    def steps(self):
        """The number of steps since state 0."""
        return _lib.troupe_server_progress(self._any()).steps

    @property
    def time(self):
        """Simulated time in seconds."""
        return _lib.troupe_server_progress(self._any()).time_s

    @property
    def hash(self):
        """The hash of the state of all worlds: equal hashes mean equal bits. `troupe run` prints it in hexadecimal."""
        return _lib.troupe_server_hash(self._use())

    @property
    def secondaries(self):
        return _lib.troupe_server_secondaries(self._any(), 0)

    @property
    def warnings(self):
        return self._owned.warnings()

    @property
    def names(self):
        """The names of the worlds in the file, in their order."""
        server = self._any()
        return [_lib.troupe_server_world_name(server, i).decode() for i in range(_lib.troupe_server_world_count(server))]

    @property
    def step_size(self):
        """Simulated seconds that a step of the first world takes."""
        return _lib.troupe_server_step_s(self._use(), 0)

    def report(self):
        """The report of the run, as `troupe run --report -` prints it: a dict."""
        report = _lib.troupe_server_report(self._use())
        text = _take_text(_lib.troupe_report_json(report))
        _lib.troupe_report_free(report)
        return json.loads(text)

    def replies(self):
        """Takes the outcomes of commands since the last call, at most the last 1000: a list of Reply."""
        return self._owned.replies()

    def _look(self, fn):
        """Calls fn with the snapshot of each world, and returns the list of its results."""
        results, errors = [], []

        def see(ctx, snapshot):
            try:
                results.append(fn(snapshot[0]))
            except BaseException as why:
                errors.append(why)

        _lib.troupe_server_look(self._use(), _see(see), None)
        if errors:
            raise errors[0]
        return results

    def scene(self, world=0):
        """What there is: a dict with the models, their links, joints and sensors. It changes only when epoch does."""
        return self._world(world, _scene_dict)

    def epoch(self, world=0):
        """A number that grows when models come or go. Handles of other models stay valid."""
        epoch = _lib.troupe_server_scene_epoch(self._use(), _world_number(world))
        if not epoch:
            raise Error("EINVAL", "world %d: there is none of this number" % world)
        return epoch

    def contacts(self, world=0):
        """The contacts at the beginning of the last step, if World(contacts=True): a list of Contact."""
        return self._world(world, _contact_list)

    def _world(self, world, fn):
        found = self._look(fn)
        if not 0 <= world < len(found):
            raise Error("EINVAL", "world %d: expected 0 to %d" % (world, len(found) - 1))
        return found[world]

    # handles

    def model(self, name, world=0):
        """The Model of this name. UnknownName, a KeyError: there is none."""
        found = _lib.troupe_find_model(self._use(), _world_number(world), _name(name))
        return Model(self, _found(found, "model", name, lambda: self._model_names(world)), name)

    def _model_names(self, world=0):
        return self._world(world, _model_names)

    def joint(self, name, world=0):
        """A joint of the world itself. Those of models: Model.joint()."""
        found = _lib.troupe_find_world_joint(self._use(), _world_number(world), _name(name))
        return Joint(self, _found(found, "joint of the world", name, lambda: self._world(world, _world_joint_names)), name)

    def sensors(self, world=0):
        """All sensors by their full names: {"scout_0::bumper::lidar": Sensor}."""
        found = {}
        for about in self.scene(world)["models"]:
            for sensor in about["sensors"]:
                model = self.model(about["name"], world)
                handle = _lib.troupe_find_sensor(self._use(), model._handle, _name(sensor["name"]))
                if handle.at:
                    found["%s::%s" % (about["name"], sensor["name"])] = Sensor(model, handle, sensor["name"], sensor)
        return found

    def sensor(self, name, world=0):
        """A Sensor by its full name, "scout_0::bumper::lidar"."""
        parts = name.split("::") if isinstance(name, str) else [name]
        for count in range(1, len(parts)):
            model, rest = "::".join(parts[:count]), "::".join(parts[count:])
            if _lib.troupe_find_model(self._use(), _world_number(world), _name(model)).at:
                return self.model(model, world).sensor(rest)
        _name(name)
        raise _unknown("EINVAL", "no sensor '%s'" % name, name, self.sensors(world))

    def models(self, names=None, world=0):
        """Models as one group; names: of all models that can move, if None."""
        if names is None:
            names = [model["name"] for model in self.scene(world)["models"] if not model["static"]]
        return Models([name if isinstance(name, Model) else self.model(name, world) for name in names])

    # topics and commands

    def topics(self):
        """The topics and services: a list of dicts with name, kind ("published", "taken", "service"), type, reply_type,
        owner, rate (messages per simulated second; 0: each step, or on changes) and changes."""
        topics = _lib.troupe_topics_list(self._any())
        found = []
        for i in range(topics[0].count):
            topic = topics[0].at[i]
            found.append({"name": topic.name.decode(), "kind": _TOPIC_KINDS[topic.kind], "type": topic.type.decode(),
                          "reply_type": topic.reply_type.decode() if topic.reply_type else None,
                          "owner": topic.owner.decode(), "rate": topic.rate_hz, "changes": topic.changes})
        _lib.troupe_topics_release(topics)
        return found

    def _type(self, name):
        """The type of the messages that a topic or service takes."""
        taken, _ = self._names_of_topics()
        try:
            return taken[name]
        except KeyError:
            raise _unknown("ECOMMAND", "topic '%s' has no listener" % name, name, self._main_names(taken)) from None

    def _names_of_topics(self):
        """Of the topics and services that take messages, and of those that are published: {name: type} of each."""
        epoch = _lib.troupe_topics_epoch(self._any())
        if self._types[0] != epoch:
            taken, published = {}, {}
            for topic in self.topics():
                (published if topic["kind"] == "published" else taken)[topic["name"]] = topic["type"]
            self._types = (epoch, taken, published)
        return self._types[1:]

    @staticmethod
    def _main_names(names):
        """For a message: each service has a second name, which is left out."""
        return [name for name in names if not name.endswith("/blocking")]

    def command(self, topic, message, step=None):
        """Gives a command on a topic or service, for the next step or for `step`, and returns the step. message: a dict
        (JSON), a text in the form of `gz topic -p`, numbers in the order of the message's fields, or bytes in binary
        form. A step in the past is refused. A topic that does not exist is an error; while a model waits to be
        created, a text is kept for its step. Any thread."""
        server, error, bound = self._any(), _Error(), c_uint64()
        _name(topic)
        topic = _plain(topic)
        name, when = _name(topic), _when(step)
        if isinstance(message, str):
            status = _lib.troupe_command_text(server, when, name, _name(message), byref(bound), byref(error))
        elif isinstance(message, (dict, bytes, bytearray)):
            kind = self._type(topic)
            data = _binary(kind, message) if isinstance(message, dict) else bytes(message)
            status = _lib.troupe_command_bytes(server, when, name, _name(kind), data, len(data), byref(bound),
                                               byref(error))
        else:
            numbers = (c_double * len(message))(*message)
            status = _lib.troupe_command_numbers(server, when, name, numbers, len(numbers), byref(bound), byref(error))
        _check(status, error)
        return bound.value

    def client(self, depth=0):
        """A Client: subscribes to topics and calls services. depth: step boundaries whose messages wait; 0: 64."""
        return Client(self, depth)

    def subscribe(self, topic, rate=0.0, depth=0, later=False):
        """A Client that is subscribed to this topic. later: the topic may come later, with a model."""
        client = Client(self, depth)
        try:
            client.subscribe(topic, rate, later)
        except BaseException:
            client.close()
            raise
        return client

    def call(self, service, request=None):
        """Calls a service, takes one step, because services are answered between steps, and returns the reply: a dict.
        A refusal raises an error."""
        return self._call(service, request).dict()

    def _call(self, service, request):
        client = Client(self, 0)
        try:
            tag = client.call(service, request)
            strict, self.strict = self.strict, False
            try:
                self.step(1)
            finally:
                self.strict = strict
            for reply in client:
                if reply.tag == tag:
                    if not reply.ok:
                        raise Error(reply.status, reply.text)
                    return reply
            raise Error("ECOMMAND", "service '%s': no reply within one step" % service)
        finally:
            client.close()

    # changes. Each takes one step, as call() does, so that its effect can be seen, and raises an error if it is refused;
    # with `step` it takes none: the change is made at the beginning of that step, whose number is returned.

    def _change(self, service, request, world, step, name=None):
        worlds = self.names
        if not 0 <= world < len(worlds):
            raise Error("EINVAL", "world %d: expected 0 to %d" % (world, len(worlds) - 1))
        topic = "/world/%s/%s" % (_part_of_topic(worlds[world]), service)
        if step is not None:
            return self.command(topic, request, step)
        try:
            self._call(topic, request)
        except Error as why:
            if why.status == "ECOMMAND" and name is not None and name not in self._model_names(world):
                raise _unknown(why.status, why.text, name, self._model_names(world)) from None
            raise
        return None

    def spawn(self, model, name=None, pose=None, rename=False, world=0, step=None):
        """Creates a model and returns it: a Model. model: a text of SDF or URDF, or a file of it, or its name in the
        resource paths ("models/cart"). name: instead of the model's own. pose: x, y, z; or x, y, z, roll, pitch, yaw; or
        x, y, z and the quaternion w, x, y, z. rename: a name that is in use gets a number; otherwise it is an error.
        Takes one step; with `step` none, and the model is created at the beginning of that step, which is returned."""
        text = os.fspath(model)
        request = {"sdf": text} if text.lstrip().startswith("<") else \
            {"sdf_filename": os.path.abspath(text) if os.path.isfile(text) else text}
        if name is not None:
            request["name"] = name
        if pose is not None:
            request["pose"] = _pose_dict(pose)
        if rename:
            request["allow_renaming"] = True
        before = None if name is not None and not rename or step is not None else set(self._model_names(world))
        bound = self._change("create", request, world, step)
        if step is not None:
            return bound
        if before is not None:
            name = next((each for each in self._model_names(world) if each not in before), name)
        return self.model(name, world)

    def remove(self, model, world=0, step=None):
        """Removes a model: a name or a Model. Takes one step; with `step` none, as in spawn()."""
        name = _name_of(model)
        return self._change("remove", {"name": name, "type": "MODEL"}, world, step, name)

    def reset(self, world=0, step=None):
        """Puts the world back into its first state, at its first time; models that were spawned are removed. Takes one
        step, the first one of the world anew; with `step` none, as in spawn(). `steps` goes on: it numbers commands."""
        return self._change("control", {"reset": {"all": True}}, world, step)

    def set_pose(self, model, pose, world=0, step=None):
        """Places a model: a name or a Model; pose as in spawn(). Takes one step; with `step` none, as in spawn()."""
        name = _name_of(model)
        return self._change("set_pose", dict(_pose_dict(pose), name=name), world, step, name)

    def set_twist(self, model, linear=(0, 0, 0), angular=(0, 0, 0), world=0, step=None):
        """Sets the velocity of a model, a name or a Model, which moves as one rigid whole from then on: m/s and rad/s in
        the world's axes. Takes one step; with `step` none, as in spawn()."""
        name = _name_of(model)
        request = {"name": name, "linear": dict(zip("xyz", _exactly(linear, 3))),
                   "angular": dict(zip("xyz", _exactly(angular, 3)))}
        return self._change("set_velocity", request, world, step, name)


def _name_of(model):
    if isinstance(model, Model):
        return model.name
    _name(model)
    return model


def _part_of_topic(name):
    """A name of a world as it stands in topics."""
    return "".join(c if c.isalnum() and c.isascii() or c in "_-." else "_" for c in name)


def _mcap_topic(topic):
    pattern, rate = topic if isinstance(topic, tuple) else topic.rpartition("@")[::2] if "@" in topic else (topic, 0)
    return _McapTopic(_name(pattern), float(rate))


def _mcap_end(pointer, error):
    return _lib.troupe_mcap_end(pointer, None, error)


def _pose_dict(pose):
    """x, y, z and nothing, roll, pitch and yaw, or a quaternion w, x, y, z."""
    numbers = [float(number) for number in pose]
    if len(numbers) not in (3, 6, 7):
        raise ValueError("%d numbers: expected x, y, z; or with roll, pitch, yaw; or with a quaternion w, x, y, z" %
                         len(numbers))
    found = {"position": dict(zip("xyz", numbers))}
    if len(numbers) == 6:
        (cr, sr), (cp, sp), (cy, sy) = ((math.cos(angle / 2), math.sin(angle / 2)) for angle in numbers[3:])
        numbers[3:] = [cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
                       cr * cp * sy - sr * sp * cy]
    if len(numbers) == 7:
        found["orientation"] = dict(zip("wxyz", numbers[3:]))
    return found
