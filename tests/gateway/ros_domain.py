"""A domain of ROS 2 that no other test of this machine has meanwhile: claim_domain() of tests/determinism/lib.sh, for
programs in Python."""
import fcntl
import os
import tempfile

FIRST, COUNT = 10, 90  # the ports of these domains are below those that the system gives away
_held = []


def claim():
    """The number of the domain. It is held as long as this process runs."""
    for i in range(COUNT):
        domain = FIRST + (os.getpid() + i) % COUNT
        try:
            lock = open(os.path.join(tempfile.gettempdir(), "troupe_ros_domain_%d" % domain), "a")
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        _held.append(lock)
        return domain
    raise RuntimeError("no domain of ROS 2 from %d to %d is free" % (FIRST, FIRST + COUNT - 1))
