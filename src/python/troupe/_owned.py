"""What a world owns in the library, and how it ends: with close(), when nothing refers to the world, and when the
interpreter exits."""

import atexit
import threading
import weakref
from ctypes import byref, c_char_p, c_void_p

from ._library import _Error, _Reply, _STATUS, _lib
from ._values import Error, Reply, _check, _failure


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
