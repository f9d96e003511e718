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

from ._values import (Array, Contact, Error, JointState, Pose, Reading, Reply, Twist, UnknownName, fingerprint,
                      version, worlds_folder)
from ._topics import Client, Message
from ._models import Joint, Joints, Link, Links, Model, Models, Sensor
from ._world import World
from ._pool import Pool, step_many
from ._learning import ParallelEnv, VectorEnv

__all__ = ["Array", "Client", "Contact", "Error", "Joint", "JointState", "Joints", "Link", "Links", "Message",
           "Model", "Models", "ParallelEnv", "Pool", "Pose", "Reading", "Reply", "Sensor", "Twist", "UnknownName",
           "VectorEnv", "World", "fingerprint", "step_many", "version", "worlds_folder"]

# In messages and help the names are those that a program uses, not those of the modules in which they are defined.
for _each in __all__:
    globals()[_each].__module__ = __name__
del _each
