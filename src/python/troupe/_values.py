"""Errors, small values, arrays of numbers without a copy, and what is handed to C: texts, whole numbers, poses."""

import collections
import ctypes
import difflib
import functools
import math
import operator
import os
from ctypes import byref, c_char_p, c_double

from ._library import _LATE_REFUSE, _NONE, _STATUS, _STEPS_MAX, _Twist, _WORLDS, _When, _beside, _free, _lib


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


def _found(handle, kind, name, names):
    """names: a function that returns those that exist."""
    if not handle.at:
        raise _unknown("EINVAL", "no %s '%s'" % (kind, name), name, names())
    return handle


def _plain(topic):
    """The name of a topic as the library lists it: with a slash before it, and none behind."""
    return "/" + topic.strip("/")


def _text(value):
    return value.decode(errors="replace")


def _exactly(values, count):
    """So many numbers: a structure of C would fill up with zeros, and one vector would run into the next."""
    values = tuple(values)
    if len(values) != count:
        raise ValueError("%d numbers: expected %d" % (len(values), count))
    return values


def _vectors(first, second):
    return _Twist(*_exactly(first, 3), *_exactly(second, 3))
