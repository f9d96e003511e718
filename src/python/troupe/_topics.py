"""Messages of topics, and clients that subscribe to topics and call services."""

import ctypes
import json
import math
import struct
import threading
import time
import weakref
from ctypes import byref, c_char_p, c_double, c_size_t, c_void_p

from ._library import (_ClientDef, _Error, _L_INT16, _Message, _NONE, _NUMBER_KINDS, _Numbers, _R_FLOAT32,
                       _RGB_FLOAT32, _STATUS, _UNKNOWN, _WAIT_S, _free, _lib)
from ._values import Error, _Table, _array, _check, _name, _plain, _take_text, _text, _unknown, _whole
from ._owned import _too_late


def _without_bare_words(value):
    """JSON has no numbers that are not finite; protobuf's form of it has words in quotes for them."""
    if isinstance(value, dict):
        return {name: _without_bare_words(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_without_bare_words, value))
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _json(message):
    try:
        return json.dumps(message, allow_nan=False)
    except ValueError:
        return json.dumps(_without_bare_words(message))


def _binary(kind, message):
    at, count, error = c_void_p(), c_size_t(), _Error()
    _check(_lib.troupe_message_from_json(_name(kind), _json(message).encode(), byref(at), byref(count),
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
        if format == _RGB_FLOAT32 or format == _UNKNOWN and row == 8 * width:  # normals, flow
            return (height, width, row // (4 * width) if width else 0), "data", "f"
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
