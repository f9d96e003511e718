"""troupe, a lockstep robot simulator, from Python: worlds, commands and states through the C library libtroupe.

    import troupe

    with troupe.World("warehouse", seed=1) as world:
        world.step(1000)
        print(world.time, world.hash, world.models().poses.tolist())

The same world, seed and commands give the same bits: in Python, in C, and with the command `troupe run`.

Nothing but Python's own library is needed. Numbers of many models, links and joints, scans and pictures are arrays
without a copy: of numpy, where numpy is installed; otherwise an Array of this module, with the same indices.

Errors of the library are raised as troupe.Error, with its one line of text. Objects own their memory: a World ends its
server in close(), at the end of `with`, or when nothing refers to it any more. Its models, links, joints, sensors and
clients refer to it. Views of numbers stay valid when their world is closed; everything else then raises an error.

Threads: one thread at a time uses a world and what belongs to it. Worlds are independent of each other. While a world
takes steps, no other thread of Python is held up (the call releases the interpreter's lock), and these calls may be made
by other threads: World.stop(), World.command(), command_...() of models, links and joints, and Client.take() of a client
that only one thread uses. Other calls raise an error meanwhile. Do not fork() a process that has worlds.

Units: metres, kilograms, seconds, radians, newtons. Poses are x, y, z and a unit quaternion w, x, y, z."""

import atexit
import collections
import ctypes
import difflib
import functools
import itertools
import json
import math
import operator
import os
import struct
import threading
import random
import time
import weakref
import xml.etree.ElementTree as ElementTree
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_uint8, c_void_p)

__all__ = ["Array", "Client", "Contact", "Error", "Joint", "JointState", "Joints", "Link", "Links", "Message", "Model", "Models",
           "ParallelEnv", "Pool", "Pose", "Reading", "Reply", "Sensor", "Twist", "UnknownName", "VectorEnv", "World", "fingerprint", "step_many", "version",
           "worlds_folder"]

# The makefile writes these: where the library and its worlds lie, relative to this file, and the library's version.
_LIBRARY = None
_WORLDS = None
_VERSION = None

# --- the C interface: include/troupe/*.h; tests/python/layout.py compares each struct and number with the headers ------

_STATUS = ["OK", "EINVAL", "EIO", "EWORLD", "ECOMMAND", "ELIMIT", "EPROTOCOL", "EPEER", "EDIVERGED", "EINTERNAL"]
_ERROR_TEXT_BYTES = 512
_SECONDARIES_AUTO = -1
_PACE_WORLD, _PACE_FACTOR = 0, 1
_OBSERVE_CONTACTS, _OBSERVE_EFFORTS = 1, 2
_LATE_REFUSE = 1
_NONE = 0xffffffff
_INT_MAX = 0x7fffffff
_STEPS_MAX = (1 << 64) - 1
_WAIT_S = 0.05
_READING_NUMBERS = 10
_L_INT16, _R_FLOAT32 = 2, 13  # gz.msgs.PixelFormatType
_TOPIC_KINDS = ["published", "taken", "service"]
_JOINT_KINDS = ["revolute", "prismatic", "screw", "universal", "revolute2", "ball", "gearbox", "fixed"]
_NUMBER_KINDS = [("B", 1), ("f", 4), ("d", 8), ("I", 4), ("i", 4), ("Q", 8), ("q", 8)]


class _Error(Structure):
    _fields_ = [("status", c_int), ("text", c_char * _ERROR_TEXT_BYTES)]


class _Model(Structure):
    _fields_ = [("at", c_uint32), ("born", c_uint32), ("world", c_uint32)]


class _Link(Structure):
    _fields_ = [("at", c_uint32), ("born", c_uint32), ("world", c_uint32)]


class _Joint(Structure):
    _fields_ = [("at", c_uint32), ("born", c_uint32), ("world", c_uint32)]


class _Sensor(Structure):
    _fields_ = [("at", c_uint32), ("born", c_uint32), ("world", c_uint32), ("index", c_uint32)]


# Parts that are only numbers are arrays here: a tuple is made of them in one call.
_Pose = c_double * 7
_Twist = c_double * 6
_Vec3 = c_double * 3


class _ModelState(Structure):
    _fields_ = [("name", c_char_p), ("pose", _Pose), ("twist", _Twist), ("secondary", c_uint32), ("loaded", c_bool),
                ("asleep", c_bool)]


class _LinkState(Structure):
    _fields_ = [("pose", _Pose), ("twist", _Twist)]


class _JointState(Structure):
    _fields_ = [("position", c_double * 2), ("velocity", c_double * 2), ("effort", c_double * 2)]


class _Odometry(Structure):
    _fields_ = [("given", c_bool), ("x", c_double), ("y", c_double), ("yaw", c_double), ("linear", c_double),
                ("angular", c_double), ("drift_m", c_double), ("drift_rad", c_double), ("tilt_rad", c_double),
                ("height_m", c_double)]


class _Reading(Structure):
    _fields_ = [("given", c_bool), ("step", c_uint64), ("time_s", c_double), ("numbers", c_double * _READING_NUMBERS)]


class _Contact(Structure):
    _fields_ = [("shapes", c_uint32 * 2), ("position", _Vec3), ("normal", _Vec3), ("depth", c_double)]


class _SceneModel(Structure):
    _fields_ = [("handle", _Model), ("name", c_char_p), ("id", c_uint64), ("is_static", c_bool), ("performer", c_bool),
                ("actor", c_bool), ("pose", _Pose), ("link_first", c_uint32), ("link_count", c_uint32),
                ("joint_first", c_uint32), ("joint_count", c_uint32)]


class _SceneLink(Structure):
    _fields_ = [("handle", _Link), ("name", c_char_p), ("model", c_uint32), ("in_model", _Pose), ("mass", c_double),
                ("shape_first", c_uint32), ("shape_count", c_uint32), ("light_first", c_uint32),
                ("light_count", c_uint32), ("fixed_to", c_uint32)]


class _SceneAxis(Structure):
    _fields_ = [("direction", _Vec3), ("lower", c_double), ("upper", c_double), ("velocity", c_double),
                ("effort", c_double)]


class _SceneJoint(Structure):
    _fields_ = [("handle", _Joint), ("name", c_char_p), ("kind", c_int), ("model", c_uint32), ("parent", c_uint32),
                ("child", c_uint32), ("axis_count", c_uint32), ("axis", _SceneAxis * 2)]


class _SceneShape(Structure):
    _fields_ = [("name", c_char_p), ("link", c_uint32), ("collision", c_bool), ("kind", c_int), ("in_link", _Pose),
                ("size", _Vec3), ("normal", _Vec3), ("colour", c_float * 4), ("material", c_void_p),
                ("transparency", c_double), ("laser_retro", c_double), ("layer", c_int32), ("cast_shadows", c_bool),
                ("uri", c_char_p), ("path", c_char_p), ("submesh", c_char_p), ("submesh_centred", c_bool),
                ("shift", _Vec3), ("points", c_void_p), ("point_count", c_uint32), ("triangles", c_void_p),
                ("triangle_count", c_uint32)]


class _SceneSensor(Structure):
    _fields_ = [("handle", _Sensor), ("name", c_char_p), ("type", c_char_p), ("model", c_uint32), ("link", c_uint32),
                ("joint", c_uint32), ("rate_hz", c_double), ("in_link", _Pose), ("number_count", c_uint32),
                ("numbers", POINTER(c_char_p))]


class _Scene(Structure):  # without its last member, which is never read here; scenes are made by the library only
    _fields_ = [("world", c_char_p), ("epoch", c_uint64), ("model_count", c_uint32), ("link_count", c_uint32),
                ("joint_count", c_uint32), ("shape_count", c_uint32), ("light_count", c_uint32),
                ("sensor_count", c_uint32), ("mobile_count", c_uint32), ("moving_links", c_uint32),
                ("models", POINTER(_SceneModel)), ("links", POINTER(_SceneLink)), ("joints", POINTER(_SceneJoint)),
                ("shapes", POINTER(_SceneShape)), ("lights", c_void_p), ("sensors", POINTER(_SceneSensor))]


class _Snapshot(Structure):
    _fields_ = [("world", c_char_p), ("step", c_uint64), ("time_s", c_double), ("paused", c_bool),
                ("scene", POINTER(_Scene)), ("model_count", c_uint32), ("link_count", c_uint32),
                ("joint_count", c_uint32), ("sensor_count", c_uint32), ("models", POINTER(_ModelState)),
                ("odometry", POINTER(_Odometry)), ("links", POINTER(_LinkState)), ("joints", POINTER(_JointState)),
                ("readings", POINTER(_Reading)), ("contact_count", c_uint32), ("contacts", POINTER(_Contact)),
                ("secondaries", c_uint32), ("busy", POINTER(c_double))]


class _Reply(Structure):
    _fields_ = [("world", c_char_p), ("step", c_uint64), ("topic", c_char_p), ("status", c_int), ("text", c_char_p),
                ("called", c_bool)]


class _When(Structure):
    _fields_ = [("step", c_uint64), ("late", c_int)]


class _Limits(Structure):
    _fields_ = [("iterations", c_uint64), ("until_s", c_double)]


class _Progress(Structure):
    _fields_ = [("steps", c_uint64), ("moves", c_uint64), ("levels_loaded", c_uint64), ("time_s", c_double),
                ("awaited", c_uint32), ("paused", c_bool)]


_see = CFUNCTYPE(None, c_void_p, POINTER(_Snapshot))
_strings = POINTER(c_char_p)


class _Def(Structure):
    _fields_ = [("world_path", c_char_p), ("world_text", c_char_p), ("resume_path", c_char_p),
                ("resume_bytes", c_char_p), ("resume_count", c_size_t), ("resource_paths", _strings),
                ("plugin_paths", _strings), ("secondaries", c_int32), ("distribution", c_char_p), ("pins", _strings),
                ("sleepless", c_bool), ("by_ode", c_bool), ("sense_all", c_bool), ("ignore_levels", c_bool), ("pace", c_int),
                ("rtf", c_double), ("rate_hz", c_double), ("paused", c_bool), ("no_world", c_bool), ("seed", c_uint64),
                ("initial_time_s", c_double), ("barrier_deadline_s", c_double), ("window", c_uint32),
                ("scripted", c_bool), ("chaos", c_bool),
                ("chaos_seed", c_uint64), ("chaos_moves", c_uint32), ("observe", c_uint32),
                ("step_every", c_uint64), ("hash_every", c_uint64), ("record_path", c_char_p),
                ("costs_path", c_char_p), ("costs_every", c_uint64), ("record_every", c_uint64),
                ("save_folder", c_char_p), ("logs_obeyed", c_bool), ("network", c_void_p), ("plugin_file", c_char_p),
                ("rehearse", c_bool), ("anew", c_bool), ("lanes", c_uint32), ("break_rule", c_char_p), ("on_event", c_void_p),
                ("on_hash", c_void_p), ("on_step", c_void_p), ("on_reply", c_void_p), ("on_taken", c_void_p),
                ("on_watch", c_void_p), ("on_warning", c_void_p), ("on_note", c_void_p), ("on_member", c_void_p),
                ("on_next", c_void_p),
                ("on_server", c_void_p), ("ctx", c_void_p), ("stamp_", c_uint32)]


class _Topic(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("type", c_char_p), ("reply_type", c_char_p), ("owner", c_char_p),
                ("rate_hz", c_double), ("changes", c_bool), ("model", c_char_p), ("is_twin", c_bool)]


class _Topics(Structure):
    _fields_ = [("epoch", c_uint64), ("count", c_uint32), ("at", POINTER(_Topic))]


class _ClientDef(Structure):
    _fields_ = [("depth", c_uint32), ("on_ready", c_void_p), ("ctx", c_void_p), ("never_waits", c_bool)]


class _Message(Structure):
    _fields_ = [("is_reply", c_bool), ("topic", c_char_p), ("type", c_char_p), ("bytes", c_void_p),
                ("count", c_size_t), ("step", c_uint64), ("time_ns", c_int64), ("tag", c_uint64), ("status", c_int),
                ("text", c_char_p)]


class _Numbers(Structure):
    _fields_ = [("kind", c_int), ("at", c_void_p), ("count", c_size_t)]


class _McapTopic(Structure):
    _fields_ = [("pattern", c_char_p), ("rate_hz", c_double)]


class _McapDef(Structure):
    _fields_ = [("path", c_char_p), ("topics", POINTER(_McapTopic)), ("topic_count", c_uint32),
                ("in_a_hurry", c_void_p), ("on_end", c_void_p), ("ctx", c_void_p), ("names", c_int),
                ("robot", c_char_p), ("say", c_void_p)]


class _LogDef(Structure):
    _fields_ = [("path", c_char_p), ("what", c_char_p), ("every", c_uint64), ("on_warning", c_void_p), ("ctx", c_void_p)]


_PART_KINDS = ["twist", "pose", "link twist", "link pose", "wrench", "joint", "sensor"]
_PART_NUMBERS = 10


class _Part(Structure):
    _fields_ = [("kind", c_int), ("handle", _Sensor), ("count", c_uint32), ("which", c_uint8 * _PART_NUMBERS)]


class _Turn(Structure):
    _fields_ = [("servers", POINTER(c_void_p)), ("count", c_uint32), ("steps", c_uint64), ("actions", POINTER(_Part)),
                ("observations", POINTER(_Part)), ("action_count", c_uint32), ("observation_count", c_uint32),
                ("commands", c_void_p), ("delays", POINTER(c_uint32)), ("rests", POINTER(c_bool)),
                ("ret_observed", c_void_p)]


_server = _client = _pool = _report = _inbox = _mcap = _log = c_void_p
_error = POINTER(_Error)

# name: result, arguments
_FUNCTIONS = {
    "troupe_version": (c_char_p, []),
    "troupe_fingerprint": (c_uint64, []),
    "troupe_server_def_default": (_Def, []),
    "troupe_inbox_create": (c_int, [c_uint32, POINTER(_inbox), _error]),
    "troupe_inbox_destroy": (None, [_inbox]),
    "troupe_inbox_put_reply": (None, [_inbox, POINTER(_Reply)]),
    "troupe_inbox_put_warning": (None, [_inbox, c_char_p]),
    "troupe_inbox_take_reply": (c_bool, [_inbox, POINTER(_Reply)]),
    "troupe_inbox_take_warning": (c_bool, [_inbox, POINTER(c_char_p)]),
    "troupe_inbox_take_failure": (c_bool, [_inbox, POINTER(_Reply)]),
    "troupe_inbox_any_failure": (c_bool, [POINTER(_inbox), c_uint32]),
    "troupe_server_create": (c_int, [POINTER(_Def), POINTER(_server), _error]),
    "troupe_server_destroy": (None, [_server]),
    "troupe_server_run": (c_int, [_server, POINTER(_Limits), _error]),
    "troupe_server_step": (c_int, [_server, c_uint64, _error]),
    "troupe_server_stop": (None, [_server]),
    "troupe_server_was_stopped": (c_bool, [_server]),
    "troupe_server_save": (c_int, [_server, c_char_p, _error]),
    "troupe_server_pack": (c_int, [_server, POINTER(c_void_p), POINTER(c_size_t), _error]),
    "troupe_server_progress": (_Progress, [_server]),
    "troupe_server_world_count": (c_uint32, [_server]),
    "troupe_server_world_name": (c_char_p, [_server, c_uint32]),
    "troupe_server_secondaries": (c_uint32, [_server, c_uint32]),
    "troupe_server_hash": (c_uint64, [_server]),
    "troupe_server_step_s": (c_double, [_server, c_uint32]),
    "troupe_server_scene_epoch": (c_uint64, [_server, c_uint32]),
    "troupe_server_look": (None, [_server, _see, c_void_p]),
    "troupe_server_end_recording": (c_int, [_server, _error]),
    "troupe_server_report": (_report, [_server]),
    "troupe_report_json": (c_void_p, [_report]),
    "troupe_report_free": (None, [_report]),
    "troupe_find_model": (_Model, [_server, c_uint32, c_char_p]),
    "troupe_find_link": (_Link, [_server, _Model, c_char_p]),
    "troupe_find_joint": (_Joint, [_server, _Model, c_char_p]),
    "troupe_find_world_joint": (_Joint, [_server, c_uint32, c_char_p]),
    "troupe_find_sensor": (_Sensor, [_server, _Model, c_char_p]),
    "troupe_hold_sensor": (c_bool, [_server, _Sensor, c_bool]),
    "troupe_get_model": (c_bool, [_server, _Model, POINTER(_ModelState)]),
    "troupe_get_odometry": (c_bool, [_server, _Model, POINTER(_Odometry)]),
    "troupe_get_link": (c_bool, [_server, _Link, POINTER(_LinkState)]),
    "troupe_get_joint": (c_bool, [_server, _Joint, POINTER(_JointState)]),
    "troupe_get_sensor": (c_bool, [_server, _Sensor, POINTER(_Reading)]),
    "troupe_get_models": (c_uint32, [_server, POINTER(_Model), c_uint32, c_void_p, c_void_p]),
    "troupe_get_links": (c_uint32, [_server, POINTER(_Link), c_uint32, c_void_p, c_void_p]),
    "troupe_get_joints": (c_uint32, [_server, POINTER(_Joint), c_uint32, c_void_p]),
    "troupe_command_text": (c_int, [_server, POINTER(_When), c_char_p, c_char_p, POINTER(c_uint64), _error]),
    "troupe_command_bytes": (c_int, [_server, POINTER(_When), c_char_p, c_char_p, c_char_p, c_size_t,
                                     POINTER(c_uint64), _error]),
    "troupe_command_numbers": (c_int, [_server, POINTER(_When), c_char_p, POINTER(c_double), c_uint32,
                                       POINTER(c_uint64), _error]),
    "troupe_command_twist": (c_int, [_server, POINTER(_When), _Model, POINTER(_Twist), POINTER(c_uint64), _error]),
    "troupe_command_joint": (c_int, [_server, POINTER(_When), _Joint, c_double, POINTER(c_uint64), _error]),
    "troupe_command_wrench": (c_int, [_server, POINTER(_When), _Link, POINTER(_Twist), POINTER(c_uint64), _error]),
    "troupe_command_pose": (c_int, [_server, POINTER(_When), _Model, POINTER(_Pose), POINTER(c_uint64), _error]),
    "troupe_command_velocity": (c_int, [_server, POINTER(_When), _Model, POINTER(_Twist), POINTER(c_uint64), _error]),
    "troupe_command_joint_state": (c_int, [_server, POINTER(_When), _Joint, c_uint32, c_double, c_double,
                                           POINTER(c_uint64), _error]),
    "troupe_command_twists": (c_int, [_server, POINTER(_When), POINTER(_Model), c_uint32, c_void_p, _error]),
    "troupe_command_joints": (c_int, [_server, POINTER(_When), POINTER(_Joint), c_uint32, c_void_p, _error]),
    "troupe_command_wrenches": (c_int, [_server, POINTER(_When), POINTER(_Link), c_uint32, c_void_p, _error]),
    "troupe_topics_list": (POINTER(_Topics), [_server]),
    "troupe_topics_release": (None, [POINTER(_Topics)]),
    "troupe_topics_epoch": (c_uint64, [_server]),
    "troupe_client_create": (c_int, [_server, POINTER(_ClientDef), POINTER(_client), _error]),
    "troupe_client_destroy": (None, [_client]),
    "troupe_client_subscribe": (c_int, [_client, c_char_p, c_double, _error]),
    "troupe_client_unsubscribe": (None, [_client, c_char_p]),
    "troupe_client_call": (c_int, [_client, c_char_p, c_char_p, c_char_p, c_size_t, c_uint64, _error]),
    "troupe_client_take": (c_bool, [_client, c_uint64, POINTER(_Message)]),
    "troupe_client_lost": (c_uint64, [_client]),
    "troupe_message_to_json": (c_int, [c_char_p, c_char_p, c_size_t, POINTER(c_void_p), _error]),
    "troupe_message_from_json": (c_int, [c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_size_t), _error]),
    "troupe_message_numbers": (c_int, [c_char_p, c_char_p, c_size_t, c_char_p, POINTER(_Numbers), _error]),
    "troupe_message_number": (c_int, [c_char_p, c_char_p, c_size_t, c_char_p, POINTER(c_double), _error]),
    "troupe_mcap_start": (c_int, [_server, POINTER(_McapDef), POINTER(_mcap), _error]),
    "troupe_mcap_step": (None, [_mcap]),
    "troupe_mcap_end": (c_int, [_mcap, c_void_p, _error]),
    "troupe_log_observes": (c_int, [c_char_p, POINTER(c_uint32), _error]),
    "troupe_log_start": (c_int, [_server, POINTER(_LogDef), POINTER(_log), _error]),
    "troupe_log_step": (None, [_log]),
    "troupe_log_end": (c_int, [_log, _error]),
    "troupe_pool_create": (c_int, [c_uint32, POINTER(_pool), _error]),
    "troupe_pool_destroy": (None, [_pool]),
    "troupe_pool_threads": (c_uint32, [_pool]),
    "troupe_pool_step": (c_int, [_pool, POINTER(_server), c_uint32, c_uint64, POINTER(_Error), _error]),
    "troupe_pool_turn": (c_int, [_pool, POINTER(_Turn), POINTER(_Error), _error]),
}


def _beside(path):
    """A path that the makefile wrote, from the folder of this file; None: there is nothing there."""
    found = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), path)) if path else None
    return found if found and os.path.exists(found) else None


def _load():
    path = os.environ.get("TROUPE_LIBRARY") or _beside(_LIBRARY) or "libtroupe.so.0"
    try:
        lib = ctypes.CDLL(path)
    except OSError as why:
        raise ImportError("libtroupe: %s: expected troupe to be built, or installed with this module" % why) from None
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise ImportError("%s has no function %s: expected libtroupe %s" % (path, name, _VERSION)) from None
        function.restype = result
        function.argtypes = arguments
    found = lib.troupe_version().decode()
    if _VERSION and found != _VERSION:
        raise ImportError("%s is version %s: expected %s, that of this module" % (path, found, _VERSION))
    return lib


_lib = _load()
_free = ctypes.CDLL(None).free
_free.restype = None
_free.argtypes = [c_void_p]

# --- errors, small values ----------------------------------------------------------------------------------------------


class Error(Exception):
    """What the library refuses or cannot do. status: "EWORLD", "ECOMMAND" ... as in troupe/base.h; text: one line.
    errors: of step_many() and Pool.step(), None or an Error for each world; otherwise None."""

    def __init__(self, status, text, errors=None):
        super().__init__(text)
        self.status = status
        self.text = text
        self.errors = errors


class UnknownName(Error, KeyError):
    """There is nothing of this name; the text has the names that exist. Also a KeyError."""

    def __str__(self):
        return self.text


_NAMES_SHOWN = 12


def _unknown(status, text, name, names):
    """The exception; text: what is wrong. All names that exist if they are few, otherwise the most similar ones."""
    names = list(dict.fromkeys(names))
    if not names:
        return UnknownName(status, "%s: there is none at all" % text)
    if len(names) <= _NAMES_SHOWN:
        shown, rest = names, ""
    else:
        near = names[:10000]
        shown = difflib.get_close_matches(name, near, 4, 0.7) or difflib.get_close_matches(name, near, _NAMES_SHOWN, 0.0)
        rest = " (of %d)" % len(names)
    return UnknownName(status, "%s: expected %s%s" % (text, ", ".join("'%s'" % each for each in shown), rest))


def _failure(error):
    return Error(_STATUS[error.status], error.text.decode(errors="replace"))


def _check(status, error):
    if status:
        raise _failure(error)


Pose = collections.namedtuple("Pose", "x y z qw qx qy qz")
Pose.__doc__ = "A place in metres, and a rotation as a unit quaternion."
Twist = collections.namedtuple("Twist", "vx vy vz wx wy wz")
Twist.__doc__ = "A velocity in m/s, and an angular velocity in rad/s."
JointState = collections.namedtuple("JointState", "position velocity effort")
JointState.__doc__ = "Of a joint's first axis: rad, rad/s, N m; or m, m/s, N. effort: 0 unless World(efforts=True)."
Reading = collections.namedtuple("Reading", "step time numbers ranges angles vertical_angles picture depth",
                                 defaults=(None,) * 5)
Reading.__doc__ = """The last sample of a sensor: the state that it measured, its simulated time, {name: number}.

Of a lidar also: ranges, an array of metres, one for each of `angles` (rad); of several rows: rows x columns, a row for
each of `vertical_angles`. Of a camera: picture, an array rows x columns x channels, or rows x columns of 16-bit numbers;
depth: rows x columns of metres. What a sensor does not have is None."""
Contact = collections.namedtuple("Contact", "first second position normal depth")
Contact.__doc__ = "Two collisions that touch, as \"model::link::collision\"; the normal points into the first."
Reply = collections.namedtuple("Reply", "step topic ok text")
Reply.__doc__ = "The outcome of a command to the world, or why a command had no receiver."


def version():
    """The library's version, "0.1.0"."""
    return _lib.troupe_version().decode()


def fingerprint():
    """A number that is the same on machines that give the same bits: see troupe/server.h."""
    return _lib.troupe_fingerprint()


def worlds_folder():
    """The folder with the worlds and models that come with troupe; None: they are not installed."""
    return _beside(_WORLDS)


def _whole_text(data):
    """What C would end at a zero byte, without a word."""
    if b"\0" in data:
        raise ValueError("%.80r: a zero byte in a text" % (data,))
    return data


def _bytes(text):
    if text is None:
        return text
    if not isinstance(text, (bytes, str, os.PathLike)):
        raise TypeError("%.80r: expected a text or a path" % (text,))
    return _whole_text(os.fsencode(text))


def _name(text):
    """A name or a message, in UTF-8."""
    if not isinstance(text, str):
        raise TypeError("%.80r: expected a text" % (text,))
    return _whole_text(text.encode())


def _whole(name, number, most=_STEPS_MAX):
    """A number that the C interface can hold: ctypes would take others modulo 2^64 or 2^32, without a word."""
    number = operator.index(number)
    if not 0 <= number <= most:
        raise ValueError("%s: %d: expected a whole number from 0 to %d" % (name, number, most))
    return number


def _world_number(world):
    return _whole("world", world, _NONE)


def _list(texts):
    """A NULL-terminated array of strings. One string is a list of one, not of its letters."""
    items = [_bytes(text) for text in ([texts] if isinstance(texts, (str, bytes, os.PathLike)) else texts)]
    return (c_char_p * (len(items) + 1))(*items, None)


def _when(step):
    return None if step is None else byref(_When(_whole("step", step), _LATE_REFUSE))


def _take_text(pointer):
    text = ctypes.string_at(pointer)
    _free(pointer)
    return text.decode()


_SCALARS = {"B": "uint8", "H": "uint16", "f": "float32", "d": "float64", "I": "uint32", "i": "int32", "Q": "uint64",
            "q": "int64"}


@functools.lru_cache(None)  # a search that finds nothing takes 0.1 ms
def _numpy():
    """The module, or None where it is not installed; imported when the first array is made."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _array(memory, format, shape):
    """The numbers in these bytes as an array, without a copy."""
    numpy = _numpy()
    if numpy is not None and not math.prod(shape):
        return numpy.zeros(shape, _SCALARS[format])
    if numpy is not None:
        return numpy.frombuffer(memory, _SCALARS[format]).reshape(shape)
    flat = memoryview(memory).cast("B")
    strides, step = [], 1
    for count in reversed(shape):
        strides.insert(0, step)
        step *= count
    return Array(flat.cast(format), 0, tuple(shape), tuple(strides), flat.cast(format, tuple(shape)) if step else None)


class Array:
    """Numbers in rows and columns, where numpy is not installed: array[0], array[0, 1], array[:, 2], array[0][1] = 5,
    len(), shape, tolist(), iteration. Parts of it are the same memory."""

    __slots__ = ("_flat", "_begin", "shape", "_strides", "_whole")

    def __init__(self, flat, begin, shape, strides, whole=None):
        self._flat, self._begin, self.shape, self._strides = flat, begin, shape, strides
        self._whole = whole  # a memoryview, which finds one number much faster than the lines below; None: only a part

    @property
    def format(self):
        """Of a number, as in the module struct: "d"."""
        return self._flat.format

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def view(self):
        """The same numbers as a memoryview, if they lie side by side."""
        expected = 1
        for count, stride in zip(reversed(self.shape), reversed(self._strides)):
            if count > 1 and stride != expected:
                raise BufferError("numbers that do not lie side by side: expected whole rows")
            expected *= count
        part = self._flat[self._begin:self._begin + self.size]
        return part.cast("B").cast(self.format, self.shape) if self.shape and self.size else part

    def __buffer__(self, flags):  # Python 3.12 and later
        return self.view

    def __repr__(self):
        return "Array(%s)" % (self.tolist(),)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(self.shape[0]))

    def tolist(self):
        return [part.tolist() if isinstance(part, Array) else part for part in self]

    def _part(self, index):
        """The place of one number, or the array that an index chooses."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > len(self.shape):
            raise IndexError("%d indices: expected at most %d" % (len(index), len(self.shape)))
        begin, shape, strides = self._begin, [], []
        for axis, count in enumerate(self.shape):
            at = index[axis] if axis < len(index) else slice(None)
            if isinstance(at, slice):
                chosen = range(count)[at]
                begin += chosen.start * self._strides[axis] if len(chosen) else 0
                shape.append(len(chosen))
                strides.append(chosen.step * self._strides[axis])
                continue
            at = operator.index(at)
            if not -count <= at < count:
                raise IndexError("index %d: expected %d to %d" % (at, -count, count - 1))
            begin += at % count * self._strides[axis]
        return Array(self._flat, begin, tuple(shape), tuple(strides)) if shape else begin

    def __getitem__(self, index):
        if self._whole is not None and type(index) is tuple:
            try:
                return self._whole[index]
            except (NotImplementedError, TypeError):  # not one number
                pass
        part = self._part(index)
        return part if isinstance(part, Array) else self._flat[part]

    def __setitem__(self, index, values):
        if self._whole is not None and type(index) is tuple:
            try:
                self._whole[index] = values
                return
            except (NotImplementedError, TypeError):
                pass
        part = self._part(index)
        if not isinstance(part, Array):
            self._flat[part] = values
            return
        if hasattr(values, "__iter__"):
            values = list(values)
            if len(values) != len(part):
                raise ValueError("%d values: expected %d" % (len(values), len(part)))
        for i in range(len(part)):
            part[i] = values[i] if isinstance(values, list) else values


class _Table:
    """Numbers in memory of Python's: `at` is its address for the library, `view` what users see."""

    def __init__(self, *shape):
        count = math.prod(shape)
        self.memory = bytearray(8 * count)
        self.at = (c_double * count).from_buffer(self.memory)  # keeps the memory where it is
        self.view = _array(self.memory, "d", shape)

    def take(self, values):
        """Copies numbers into the table: a buffer of doubles, or numbers in lists."""
        if values is self.view:
            return
        try:
            view = memoryview(values)
        except TypeError:
            view = None
        if view is not None and view.format == "d" and view.c_contiguous:
            if view.nbytes != len(self.memory):
                raise ValueError("%d numbers: expected %d" % (view.nbytes // 8, len(self.at)))
            memoryview(self.memory)[:] = view.cast("B")
            return
        flat = list(_flatten(values.tolist() if hasattr(values, "tolist") else values))
        if len(flat) != len(self.at):
            raise ValueError("%d numbers: expected %d" % (len(flat), len(self.at)))
        self.at[:] = flat


def _flatten(values):
    for value in values:
        if isinstance(value, (str, bytes)):
            raise TypeError("%.80r: expected a number" % (value,))
        if hasattr(value, "__iter__"):
            yield from _flatten(value)
        else:
            yield value


# --- worlds ------------------------------------------------------------------------------------------------------------


def _reply_of(reply):
    return Reply(reply.step, reply.topic.decode(errors="replace"), not reply.status,
                 (reply.text or b"").decode(errors="replace"))


class _Owned:
    """The part of a world that must outlive the server. It does not refer to the World. The library calls no Python: what
    a handler of signals raises in such a call would be lost."""

    def __init__(self):
        self.server = c_void_p()
        self.inbox = c_void_p()
        self.ends = False
        self.taking = threading.Lock()  # held while steps are taken
        self.clients = {}  # number: (pointer, lock that is held while a message is taken)
        self.reading = threading.Lock()  # held while replies and warnings are taken
        self.read = []  # the warnings that were taken
        self.reply = _Reply()
        self.outputs = []  # (step, end, pointer, definition that the library refers to) of each MCAP file and log
        error = _Error()
        _check(_lib.troupe_inbox_create(1000, byref(self.inbox), byref(error)), error)

    def __del__(self):
        _lib.troupe_inbox_destroy(self.inbox)

    def replies(self):
        found, reply = [], _Reply()
        with self.reading:
            while _lib.troupe_inbox_take_reply(self.inbox, byref(reply)):
                found.append(_reply_of(reply))
        return found

    def warnings(self):
        text = c_char_p()
        with self.reading:
            while _lib.troupe_inbox_take_warning(self.inbox, byref(text)):
                self.read.append(text.value.decode(errors="replace"))
            return list(self.read)

    def failure(self):
        """The error of the first command that failed since the last call, or None. Called while `taking` is held."""
        if not _lib.troupe_inbox_take_failure(self.inbox, self.reply):
            return None
        found = _reply_of(self.reply)
        return Error(_STATUS[self.reply.status], "step %d: %s: %s" % (found.step, found.topic, found.text))

    def end(self):
        """Nothing refers to the world, or the interpreter exits: then a daemon thread may still take steps. It must not begin
        again: it would take the lock before this thread, which has to be woken for it, on a busy machine each time."""
        self.ends = True
        while not self.taking.acquire(timeout=0.05):
            _lib.troupe_server_stop(self.server)
        try:
            self.destroy()
        finally:
            self.taking.release()

    def stepped(self):
        """After each step, while `taking` is held."""
        for step, _, pointer, _ in self.outputs:
            step(pointer)

    def destroy(self):
        """Ends the files, too, so that they are whole when a program ends with an exception. Returns the first error of a
        file, or None."""
        server, self.server = self.server, c_void_p()
        clients, self.clients = self.clients, {}
        outputs, self.outputs = self.outputs, []
        failed, error = None, _Error()
        for client, lock in clients.values():
            with lock:
                _lib.troupe_client_destroy(client)
        for _, end, pointer, _ in outputs:
            if end(pointer, byref(error)):
                failed = failed or _failure(error)
        if server:
            if _lib.troupe_server_end_recording(server, byref(error)):
                failed = failed or _failure(error)
            _lib.troupe_server_destroy(server)
        return failed


_exits = False  # the interpreter has begun to exit


def _begin_exit():
    global _exits
    _exits = True


# The module of finalizers registers a function for the exit when it makes the first of them. Of such functions the one
# that was registered last is called first: this one comes before all worlds are closed.
weakref.finalize(_Owned, int)
atexit.register(_begin_exit)


def _too_late(text):
    """The exception of a call that finds its world closed, or being closed. When the interpreter exits, a daemon thread that
    made it ends in silence: were it stopped in the middle of the lines that tell of an error, with the lock of the stream,
    the interpreter would abort the process, because it needs the lock itself."""
    if _exits and threading.current_thread() is not threading.main_thread():
        return SystemExit()
    return Error("EINVAL", text)


def _taking_steps():
    return _too_late("the world takes steps on another thread: expected this call between steps")


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
                 plugin_paths=(), strict=True, sleepless=False, by_ode=False, sense_all=False, ignore_levels=False, paused=False,
                 initial_time=0.0, contacts=False, efforts=False, record=None, record_every=100, save_folder=None):
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


def _found(handle, kind, name, names):
    """names: a function that returns those that exist."""
    if not handle.at:
        raise _unknown("EINVAL", "no %s '%s'" % (kind, name), name, names())
    return handle


def _name_of(model):
    if isinstance(model, Model):
        return model.name
    _name(model)
    return model


def _plain(topic):
    """The name of a topic as the library lists it: with a slash before it, and none behind."""
    return "/" + topic.strip("/")


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


def _model_names(snapshot):
    scene = snapshot.scene[0]
    return [_text(scene.models[i].name) for i in range(scene.model_count)]


def _world_joint_names(snapshot):
    scene = snapshot.scene[0]
    models = [scene.models[i] for i in range(scene.model_count)]
    first = max([model.joint_first + model.joint_count for model in models], default=0)
    return [_text(scene.joints[i].name) for i in range(first, scene.joint_count)]


def _text(value):
    return value.decode(errors="replace")


def _joint_dict(joint):
    axes = [{"direction": tuple(axis.direction), "lower": axis.lower, "upper": axis.upper, "velocity": axis.velocity,
             "effort": axis.effort} for axis in joint.axis[:joint.axis_count]]
    return {"name": _text(joint.name), "kind": _JOINT_KINDS[joint.kind], "axes": axes}


def _sensor_dict(sensor):
    numbers = [_text(sensor.numbers[i]) for i in range(sensor.number_count)]
    return {"name": _text(sensor.name), "type": _text(sensor.type), "rate": sensor.rate_hz, "numbers": numbers,
            "in_link": Pose(*sensor.in_link)}


def _scene_dict(snapshot):
    scene = snapshot.scene[0]
    models = []
    for i in range(scene.model_count):
        model = scene.models[i]
        links = [scene.links[model.link_first + k] for k in range(model.link_count)]
        joints = [scene.joints[model.joint_first + k] for k in range(model.joint_count)]
        models.append({"name": _text(model.name), "id": model.id, "static": model.is_static,
                       "performer": model.performer, "actor": model.actor, "pose": Pose(*model.pose),
                       "links": [{"name": _text(link.name), "mass": link.mass, "in_model": Pose(*link.in_model)}
                                 for link in links],
                       "joints": [_joint_dict(joint) for joint in joints], "sensors": []})
    for i in range(scene.sensor_count):
        models[scene.sensors[i].model]["sensors"].append(_sensor_dict(scene.sensors[i]))
    return {"world": _text(scene.world), "epoch": scene.epoch, "step": snapshot.step, "time": snapshot.time_s,
            "paused": snapshot.paused, "models": models}


def _shape_name(scene, index):
    if index == _NONE:
        return None
    shape = scene.shapes[index]
    link = scene.links[shape.link]
    return "::".join(_text(part.name) for part in (scene.models[link.model], link, shape))


def _contact_list(snapshot):
    scene = snapshot.scene[0]
    found = []
    for i in range(snapshot.contact_count):
        contact = snapshot.contacts[i]
        found.append(Contact(_shape_name(scene, contact.shapes[0]), _shape_name(scene, contact.shapes[1]),
                             tuple(contact.position), tuple(contact.normal), contact.depth))
    return found


# --- models, links, joints, sensors --------------------------------------------------------------------------------------


def _exactly(values, count):
    """So many numbers: a structure of C would fill up with zeros, and one vector would run into the next."""
    values = tuple(values)
    if len(values) != count:
        raise ValueError("%d numbers: expected %d" % (len(values), count))
    return values


def _vectors(first, second):
    return _Twist(*_exactly(first, 3), *_exactly(second, 3))


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


# --- topics ------------------------------------------------------------------------------------------------------------


def _binary(kind, message):
    at, count, error = c_void_p(), c_size_t(), _Error()
    _check(_lib.troupe_message_from_json(_name(kind), json.dumps(message).encode(), byref(at), byref(count),
                                         byref(error)), error)
    data = ctypes.string_at(at, count.value)
    _free(at)
    return data


class Message:
    """A message of a topic, or the reply of a service. data: the message in protobuf's binary form."""

    __slots__ = ("topic", "type", "data", "step", "time", "is_reply", "tag", "status", "text")

    def __init__(self, found):
        self.topic = _text(found.topic)
        self.type = _text(found.type)
        self.data = ctypes.string_at(found.bytes, found.count) if found.count else b""
        self.step = found.step
        self.time = found.time_ns * 1e-9
        self.is_reply = found.is_reply
        self.tag = found.tag
        self.status = _STATUS[found.status] if found.is_reply else "OK"
        self.text = _text(found.text) if found.is_reply and found.text else ""

    def __repr__(self):
        return "<Message %s of '%s' at step %d>" % (self.type, self.topic, self.step)

    @property
    def ok(self):
        return self.status == "OK"

    def dict(self):
        """The whole message as a dict, by protobuf's mapping to JSON; fields that have their default are left out."""
        at, error = c_void_p(), _Error()
        _check(_lib.troupe_message_to_json(self.type.encode(), self.data, len(self.data), byref(at), byref(error)), error)
        return json.loads(_take_text(at))

    def numbers(self, path):
        """The numbers of one field as a view into `data`, without a copy: "ranges", "linear_acceleration.x". Of a field
        that has its default: an empty view."""
        found, error = _Numbers(), _Error()
        _check(_lib.troupe_message_numbers(self.type.encode(), self.data, len(self.data), _name(path), byref(found),
                                           byref(error)), error)
        format, size = _NUMBER_KINDS[found.kind]
        view = memoryview(self.data)
        if not found.count:
            return view[:0].cast(format)
        begin = found.at - ctypes.cast(c_char_p(self.data), c_void_p).value
        return view[begin:begin + size * found.count].cast(format)

    def number(self, path):
        """One number of a field of any type, as a float: "linear_acceleration.x", "width"; 0.0 for a default."""
        found, error = c_double(), _Error()
        _check(_lib.troupe_message_number(self.type.encode(), self.data, len(self.data), _name(path), byref(found),
                                          byref(error)), error)
        return found.value

    def array(self):
        """Of a scan: ranges, rows x columns. Of a picture: rows x columns x channels, or rows x columns of floats
        (metres) or 16-bit numbers. Of a point cloud: rows x columns x bytes of a point. An array of numpy's, or an Array,
        that is a view into `data`."""
        kind = self.type.split(".")[-1]
        try:
            shape, path, format = {"LaserScan": self._scan, "Image": self._image, "PointCloudPacked": self._points}[kind]()
        except KeyError:
            raise Error("EINVAL", "%s: expected a LaserScan, an Image or a PointCloudPacked" % self.type) from None
        return _array(self.numbers(path).cast("B") if math.prod(shape) else b"", format, shape)

    def field(self, name):
        """A number of each point of a point cloud, by the name of its field ("x", "intensity", "ring", "time"): rows x
        columns, an array of its own."""
        if not self.type.endswith("PointCloudPacked"):
            raise Error("EINVAL", "%s: expected a PointCloudPacked" % self.type)
        fields = _fields(self.data)
        if name not in fields:
            raise _unknown("EINVAL", "the cloud has no field '%s'" % name, name, fields)
        offset, kind = fields[name]
        (rows, columns, each), _, _ = self._points()
        numbers = _Table(rows, columns)
        data = self.numbers("data").cast("B")
        numbers.at[:] = [struct.unpack_from("<" + kind, data, at + offset)[0] for at in range(0, len(data), each)]
        return numbers.view

    def _what(self):
        """What a Reading makes of it."""
        if self.type.endswith("LaserScan"):
            return "scan"
        return "depth" if self._image()[2] == "f" else "picture"

    def _ranges(self):
        """Ranges, their angles, and those of the rows; of a single row: ranges in one dimension."""
        ranges = self.array()
        low, step, lowest, up = (self.number(name) for name in ("angle_min", "angle_step", "vertical_angle_min",
                                                                "vertical_angle_step"))
        rows, columns = ranges.shape
        angles = _Table(columns)
        angles.at[:] = [low + i * step for i in range(columns)]
        vertical = _Table(rows)
        vertical.at[:] = [lowest + i * up for i in range(rows)]
        return ranges[0] if rows == 1 else ranges, angles.view, vertical.view

    def _whole(self, *names):
        return [int(self.number(name)) for name in names]

    def _scan(self):
        rows, columns = self._whole("vertical_count", "count")
        total = len(self.numbers("ranges"))
        return (rows, columns) if rows * columns == total else (1, total), "ranges", "d"

    def _image(self):
        height, width, row, format = self._whole("height", "width", "step", "pixel_format_type")
        if format == _R_FLOAT32:
            return (height, width), "data", "f"
        if format == _L_INT16:
            return (height, width), "data", "H"
        return (height, width, row // width if width else 0), "data", "B"

    def _points(self):
        height, width, each = self._whole("height", "width", "point_step")
        return (height, width, each), "data", "B"


def _parts(data):
    """The fields of a protobuf message, one after the other: their numbers and values."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while data[at] >= 0x80:
            value |= (data[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
        at += 1
        return value | data[at - 1] << shift

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = {1: 8, 5: 4}[tag & 7] if tag & 7 != 2 else number()
        yield tag >> 3, data[at:at + size]
        at += size


def _fields(cloud):
    """Of a PointCloudPacked: {name: (offset in a point, kind of number)}."""
    found = {}
    for which, value in _parts(memoryview(cloud)):
        if which == 2:
            field = dict(_parts(value))
            found[bytes(field.get(1, b"")).decode()] = field.get(2, 0), "bBhHiIfd"[field.get(3, 0)]
    return found


class Client:
    """Subscribes to topics and calls services. Messages come at step boundaries: take steps, then take() or iterate. A
    client that does not take its messages loses the oldest. It ends with close(), with its world, or when nothing
    refers to it any more."""

    def __init__(self, world, depth=0):
        self.world = world
        self._tag = 0
        self._found = _Message()
        pointer, error = c_void_p(), _Error()
        _check(_lib.troupe_client_create(world._any(), byref(_ClientDef(_whole("depth", depth, _NONE), None, None)), byref(pointer),
                                         byref(error)), error)
        world._numbers += 1
        self._number = world._numbers
        world._owned.clients[self._number] = pointer, threading.Lock()
        self._finalizer = weakref.finalize(self, Client._destroy, world._owned, self._number)

    @staticmethod
    def _destroy(owned, number):
        pointer, lock = owned.clients.pop(number, (None, None))
        if pointer:
            with lock:
                _lib.troupe_client_destroy(pointer)

    def close(self):
        self._finalizer()

    def _entry(self):
        try:
            return self.world._owned.clients[self._number]
        except KeyError:
            raise _too_late("the client is closed, or its world is") from None

    def _use(self):
        return self._entry()[0]

    def subscribe(self, topic, rate=0.0, later=False):
        """rate: at most so many messages per simulated second; 0: the topic's rate. later: the topic may come later, with a
        model; otherwise a topic that does not exist is an error."""
        error = _Error()
        _name(topic)
        topic = _plain(topic)
        _, published = self.world._names_of_topics()
        if not later and topic not in published:
            raise _unknown("EINVAL", "topic '%s' is not published" % topic, topic, published)
        _check(_lib.troupe_client_subscribe(self._use(), _name(topic), rate, byref(error)), error)

    def unsubscribe(self, topic):
        _name(topic)
        _lib.troupe_client_unsubscribe(self._use(), _name(_plain(topic)))

    def call(self, service, request=None, type=None):
        """Calls a service with a dict or bytes. take() gives the reply, with the tag that is returned here, after the
        next step boundary."""
        _name(service)
        service = _plain(service)
        kind, error = type or self.world._type(service), _Error()
        if request is not None and not isinstance(request, (dict, bytes, bytearray)):
            raise TypeError("%.80r: expected a dict or bytes" % (request,))
        data = bytes(request) if isinstance(request, (bytes, bytearray)) else _binary(kind, request or {})
        self._tag += 1
        _check(_lib.troupe_client_call(self._use(), _name(service), _name(kind), data, len(data), self._tag,
                                       byref(error)), error)
        return self._tag

    def take(self, timeout=0.0):
        """The next Message; None: none came within so many seconds of real time."""
        end = time.monotonic() + timeout
        while True:
            message, rest = self._take(min(max(timeout, 0.0), _WAIT_S)), end - time.monotonic()
            if message is not None or not rest > 0:
                return message
            timeout = rest

    def _take(self, timeout):
        """Waits for a short time only: close() and Ctrl-C wait for the end of this call."""
        _, lock = self._entry()
        with lock:
            if not _lib.troupe_client_take(self._use(), int(timeout * 1e9), self._found):
                return None
            return Message(self._found)

    def __iter__(self):
        """The messages that wait."""
        return iter(self.take, None)

    def latest(self):
        """The last message that waits, without those before it; None: none waits."""
        _, lock = self._entry()
        with lock:
            taken, use = False, self._use()
            while _lib.troupe_client_take(use, 0, self._found):
                taken = Message(self._found)
        return taken or None

    @property
    def lost(self):
        """The number of step boundaries whose messages were lost because they were not taken."""
        return _lib.troupe_client_lost(self._use())


# --- many worlds -------------------------------------------------------------------------------------------------------


class _Batch:
    """What a pool needs of worlds, made once for many calls."""

    def __init__(self, worlds):
        self.worlds = worlds
        self.servers = (c_void_p * len(worlds))(*(world._any() for world in worlds))
        self.inboxes = (c_void_p * len(worlds))(*(world._owned.inbox for world in worlds))
        self.locks = [world._taking for world in worlds]
        self.errors, self.error = (_Error * len(worlds))(), _Error()


class Pool:
    """Threads that step many worlds at once. threads: how many; 0: one for each core. Make the worlds with
    secondaries=0. Which thread steps a world makes no difference to its bits."""

    def __init__(self, threads=0):
        self._pool, error = c_void_p(), _Error()
        _check(_lib.troupe_pool_create(_whole("threads", threads, _NONE), byref(self._pool), byref(error)), error)
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, Pool._destroy, self._pool, self._lock)

    @staticmethod
    def _destroy(pool, lock):
        """When the interpreter exits, a daemon thread may still take steps."""
        with lock:
            _lib.troupe_pool_destroy(pool)

    def close(self):
        self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    @property
    def threads(self):
        return _lib.troupe_pool_threads(self._use())

    def _use(self):
        if not self._finalizer.alive:
            raise _too_late("the pool is closed")
        return self._pool

    def step(self, worlds, n=1):
        """Takes n steps of each world. If some fail, the others take their steps all the same; then the error of the
        first is raised, and its `errors` has one for each world, or None."""
        worlds, n = list(worlds), _whole("n", n)
        if len(set(map(id, worlds))) != len(worlds):
            raise ValueError("a world is in the list twice")
        self._round(_Batch(worlds), lambda *about: self._step_all(*about[:3], n, *about[3:]))

    def _round(self, batch, call):
        """One call of the library that steps these worlds."""
        with self._lock:
            pool = self._use()
            errors, error, taken = batch.errors, batch.error, []
            # Each is one call of C, so that no handler of signals comes in between.
            acquire = map(operator.methodcaller("acquire", False), batch.locks)
            release = map(operator.methodcaller("release"), itertools.compress(batch.locks, taken))
            nothing = collections.deque(maxlen=0)
            try:
                taken.extend(acquire)
                if not all(taken):
                    raise _taking_steps()
                for world in batch.worlds:
                    if world._owned.ends or not world._owned.server:
                        world._any()
                status = call(pool, batch.worlds, batch.servers, errors, error)
                failed = _lib.troupe_inbox_any_failure(batch.inboxes, len(batch.worlds))
                failures = [world._owned.failure() for world in batch.worlds] if failed else [None] * bool(status) * len(errors)
            finally:
                nothing.extend(release)
        if status and not any(each.status for each in errors):
            _check(status, error)
        if status or failed:
            _raise_of(batch.worlds, errors, failures)

    @staticmethod
    def _step_all(pool, worlds, servers, n, errors, error):
        """Files look at each state: then it is one step in each call."""
        if not any(world._owned.outputs for world in worlds):
            return _lib.troupe_pool_step(pool, servers, len(worlds), n, errors, byref(error))
        status = 0
        while n and not status:
            status, n = _lib.troupe_pool_step(pool, servers, len(worlds), 1, errors, byref(error)), n - 1
            for world in worlds:
                world._owned.stepped()
        return status


def _raise_of(worlds, errors, failures):
    found = []
    for world, error, failed in zip(worlds, errors, failures):
        found.append(_failure(error) if error.status else failed if world.strict else None)
    first = next((error for error in found if error is not None), None)
    if first is not None:
        raise Error(first.status, "world %d: %s" % (found.index(first), first.text), found)


_pools = {}


def step_many(worlds, n=1, threads=0):
    """Takes n steps of each world on all cores, with a Pool that is made at the first call and kept."""
    pool = _pools.get(threads)
    if pool is None:
        pool = _pools.setdefault(threads, Pool(threads))
    pool.step(worlds, n)


# --- environments for learning ---------------------------------------------------------------------------------------------

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
        self._delays = (c_uint32 * num_envs)(*(_whole("delays", delay, _INT_MAX) for delay in delays)) if delays else None
        self._parts = None

    def _texts_of(self, path, text, parameters):
        for name, values in parameters.items():
            if len(values) != self.num_envs:
                raise ValueError("parameters: %r: %d values: expected %d" % (name, len(values), self.num_envs))
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

    def _new_episode(self, i):
        """World i anew."""
        if self.worlds[i] is not None:
            self.worlds[i].close()
            self.worlds[i] = None
            self.seeds[i] = self._randoms[i].getrandbits(63)
        record = None
        if self._record is not None:
            record = os.path.join(self._record, "env_%d_episode_%d" % (i, self._episodes[i]))
        world = World(self._path, text=self._texts[i], seed=self.seeds[i], record=record, **self._options)
        parts = self._find_parts(world)
        if self._parts is None:
            self._parts = parts
        elif bytes(parts[0]) + bytes(parts[1]) != bytes(self._parts[0]) + bytes(self._parts[1]):
            raise Error("EINVAL", "world %d has other models than world 0: expected the same" % i)
        self.worlds[i] = world
        self._episodes[i] += 1
        self._began[i], self._over[i], self._batch = self._count, False, None
        if self._begin is not None:
            self._begin(world, random.Random(self.seeds[i]))

    def reset(self, *, seed=None, options=None):
        """Begins an episode in all worlds, or in those that options["reset_mask"] chooses. World i has the seed seed + i;
        without a seed they go on from the last one. Returns the observations and {"seed": [...]}."""
        mask = (options or {}).get("reset_mask")
        chosen = [i for i in range(self.num_envs) if mask is None or mask[i]]
        if mask is not None and (len(mask) != self.num_envs or not chosen):
            raise ValueError("reset_mask: expected one truth for each world, and at least one of them true")
        if any(self.worlds[i] is None for i in range(self.num_envs) if i not in chosen):
            raise ValueError("reset_mask: expected a reset of all worlds first")
        for i in chosen:
            if seed is not None or self._randoms[i] is None:
                first = seed[i] if isinstance(seed, (list, tuple)) else (
                    random.getrandbits(62) if seed is None else _whole("seed", seed, _STEPS_MAX >> 1) + i)
                if self.worlds[i] is not None:
                    self.worlds[i].close()
                    self.worlds[i] = None
                self.seeds[i], self._randoms[i] = first, random.Random(first)
            self._new_episode(i)
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
            raise Error("EINVAL", "an episode is over: expected reset() with a reset_mask")
        self._count += 1
        begins = list(self._over) if over and self.autoreset == "next_step" else None
        for i in range(self.num_envs) if begins else ():
            if begins[i]:
                self._new_episode(i)
        self._turn(begins)
        rewards, terminated, truncated = self._judge(begins or self._nobody)
        infos = {}
        self._over = list(map(operator.or_, terminated, truncated))
        if self.autoreset == "same_step" and any(self._over):
            infos = {"final_obs": self._rows_of(self._over), "_final_obs": _bools(self._over)}
            for i in range(self.num_envs):
                if self._over[i]:
                    self._new_episode(i)
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
        for world in self.worlds:
            if world is not None:
                world.close()
        self.worlds, self._batch = [None] * self.num_envs, None
        self._pool.close()

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
