"""The C interface: the structs, numbers and functions of include/troupe/*.h, by ctypes. tests/python/layout.py compares
each struct and number with the headers. Importing this module loads the library."""

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_uint8, c_void_p)

# The makefile writes these: where the library and its worlds lie, relative to this file, and the library's version.
_LIBRARY = None
_WORLDS = None
_VERSION = None

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
_UNKNOWN, _L_INT16, _R_FLOAT32, _RGB_FLOAT32 = 0, 2, 13, 14  # gz.msgs.PixelFormatType
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
                ("child", c_uint32), ("axis_count", c_uint32), ("axis", POINTER(_SceneAxis))]


class _Form(Structure):
    _fields_ = [("name", c_char_p), ("collision", c_bool), ("kind", c_int), ("in_link", _Pose),
                ("size", _Vec3), ("normal", _Vec3), ("colour", c_float * 4), ("material", c_void_p),
                ("transparency", c_double), ("laser_retro", c_double), ("layer", c_int32), ("cast_shadows", c_bool),
                ("uri", c_char_p), ("path", c_char_p), ("submesh", c_char_p), ("submesh_centred", c_bool),
                ("shift", _Vec3), ("points", c_void_p), ("point_count", c_uint32), ("triangles", c_void_p),
                ("triangle_count", c_uint32), ("ground", c_void_p), ("ground_count", c_uint32)]


class _SceneShape(Structure):
    _fields_ = [("form", POINTER(_Form)), ("link", c_uint32)]


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
                ("sleepless", c_bool), ("by_ode", c_bool), ("sense_all", c_bool), ("ignore_levels", c_bool), ("load_all", c_bool), ("pace", c_int),
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
    "troupe_pool_create_servers": (c_int, [_pool, POINTER(c_void_p), c_uint32, POINTER(_server), POINTER(_Error), _error]),
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
