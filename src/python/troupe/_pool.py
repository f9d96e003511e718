"""Threads that step many worlds at once."""

import collections
import itertools
import operator
import threading
import weakref
from ctypes import addressof, byref, c_void_p, sizeof

from ._library import _Error, _NONE, _lib
from ._values import Error, _check, _failure, _whole
from ._owned import _taking_steps, _too_late


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

    def _make(self, make):
        """Worlds that are made by all threads at once. make: for each a function that calls World with the argument _made.
        The pointers lie where the library writes them, so that no handler of signals comes in between."""
        count = len(make)
        servers, definitions = (c_void_p * count)(), (c_void_p * count)()
        errors, error = (_Error * count)(), _Error()
        worlds = [each(c_void_p.from_buffer(servers, i * sizeof(c_void_p))) for i, each in enumerate(make)]
        for i, world in enumerate(worlds):
            definitions[i] = addressof(world._definition)
        with self._lock:
            _check(_lib.troupe_pool_create_servers(self._use(), definitions, count, servers, errors, byref(error)), error)
        return worlds

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
