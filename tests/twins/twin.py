"""The frame of the twins: what they draw, run and compare with.

A twin is a second implementation of something that troupe does: small, slow and obvious, written from the specification
and from SDF's documents, not from the source. It draws a case (a world, a state, commands), computes what must come out,
and compares it with what the program says. Its file has functions

    @twin.case(quick=40, full=2000)
    def poses(dice): ...

that draw from `dice` and call twin.expect() or twin.near(). The first line of such a function's text says what it shows.

usage: TWIN [--case NAME] [--seed N] [--count N]

Without arguments the first `quick` seeds of each case run; with TROUPE_TEST_FULL in the environment `full`. A seed that
fails is printed with the command that repeats it, reduced: draws are replaced by 0, which is the simplest choice of each
kind, as long as the case still fails. The last line is "N passed, N failed"; a test is a seed.

Cases run in a child process, so that the end of a process by a signal is a failure that names its seed, too."""
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ.get('SOURCE_DIR') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('BUILD_DIR') or os.path.join(SOURCE, 'build')
TROUPE = os.environ.get('TROUPE') or os.path.join(BUILD, 'troupe')
REDUCE_TRIES, REDUCE_S = 300, 60
SHOWN = 3  # of the seeds of a case that fail: the others would say the same at length
os.environ['TROUPE_NO_GZ'] = '1'
sys.path.insert(0, os.path.join(BUILD, 'python'))
sys.dont_write_bytecode = True
scratch = None  # a folder of this run


class Difference(Exception):
    """The program says something else than its twin."""


# --- draws ----------------------------------------------------------------------------------------------------------


class Dice:
    """Draws of one case. Each is made of a number in [0, 1), which is kept; 0 gives the simplest value."""

    def __init__(self, seed, draws=None):
        self.random = random.Random(seed)
        self.given, self.draws, self.notes = draws, [], []

    def draw(self):
        if self.given is None:
            u = self.random.random()
        else:
            u = self.given[len(self.draws)] if len(self.draws) < len(self.given) else 0.0
        self.draws.append(u)
        return u

    def chance(self, probability=0.5):
        return self.draw() > 1 - probability

    def whole(self, low, high):
        return low + min(int(self.draw() * (high - low + 1)), high - low)

    def pick(self, options):
        return options[self.whole(0, len(options) - 1)]

    def number(self, low, high):
        """Three decimals, so that a text shows it whole; 0, if that is between the two."""
        u = self.draw()
        at = max(low, min(0.0, high))
        return round(at if u == 0 else low + u * (high - low), 3)

    def point(self, size=2.0):
        return [self.number(-size, size) for _ in range(3)]

    def pose(self, size=2.0):
        """x y z roll pitch yaw; the pitch also beyond a right angle."""
        if self.chance(0.1):
            return [0.0] * 6
        return self.point(size) + ([self.number(-3.0, 3.0) for _ in range(3)] if self.chance(0.8) else [0.0] * 3)

    def axis(self):
        while True:
            v = [self.number(-1, 1) for _ in range(3)]
            if norm(v) > 0.2:
                return v
            if self.given is not None:
                return [0.0, 0.0, 1.0]

    def shuffled(self, things):
        left, ret = list(things), []
        while left:
            ret.append(left.pop(self.whole(0, len(left) - 1)))
        return ret

    def note(self, *what):
        """Shown if the case fails: the world's text, for example."""
        self.notes.append(' '.join(str(w) for w in what))


# --- comparing ------------------------------------------------------------------------------------------------------


def expect(is_so, *what):
    if not is_so:
        raise Difference(' '.join(str(w) for w in what))


def near(got, wanted, tolerance, *what):
    """Numbers, or lists of the same shape, that differ by no more than the tolerance. Infinite ones are equal."""
    if isinstance(wanted, (list, tuple)):
        expect(len(got) == len(wanted), *what, f'{len(got)} numbers {list(got)}, expected {list(wanted)}')
        worst = max((error_of(g, w) for g, w in zip(got, wanted)), default=0)
        expect(worst <= tolerance, *what, f'{list(got)}, expected {list(wanted)}: {worst:.3g} > {tolerance:.3g}')
    else:
        error = error_of(got, wanted)
        expect(error <= tolerance, *what, f'{got!r}, expected {wanted!r}: {error:.3g} > {tolerance:.3g}')


def error_of(got, wanted):
    if got == wanted:
        return 0.0
    error = abs(got - wanted)
    return error if error == error else math.inf


def near_pose(got, wanted, tolerance, *what):
    """Poses (place, quaternion); a quaternion and its negative are the same rotation."""
    near(got[0], wanted[0], tolerance, *what, 'place')
    sign = 1 if dot(got[1], wanted[1]) >= 0 else -1
    near([sign * q for q in got[1]], wanted[1], tolerance, *what, 'rotation')


# --- geometry: a vector is 3 numbers, a quaternion w x y z, a pose (place, quaternion) ----------------------------------


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def norm(a):
    return math.sqrt(dot(a, a))


def plus(*vectors):
    return [sum(numbers) for numbers in zip(*vectors)]


def minus(a, b):
    return [x - y for x, y in zip(a, b)]


def times(k, a):
    return [k * x for x in a]


def unit(a):
    return times(1 / norm(a), a)


def quaternion_times(a, b):
    w = a[0] * b[0] - dot(a[1:], b[1:])
    return [w] + plus(times(a[0], b[1:]), times(b[0], a[1:]), cross(a[1:], b[1:]))


def inverse(q):
    return [q[0]] + times(-1, q[1:])


def turn(q, v):
    """The vector v, turned by q."""
    return quaternion_times(quaternion_times(q, [0.0] + list(v)), inverse(q))[1:]


def about(axis, angle):
    return [math.cos(angle / 2)] + times(math.sin(angle / 2), unit(axis))


def from_rpy(roll, pitch, yaw):
    """Turned about the fixed x axis, then about y, then about z: SDF's convention."""
    return quaternion_times(about([0, 0, 1], yaw), quaternion_times(about([0, 1, 0], pitch), about([1, 0, 0], roll)))


def rotation_vector(q):
    """The axis times the angle, 0 .. pi."""
    if q[0] < 0:
        q = times(-1, q)
    size = norm(q[1:])
    return [0.0] * 3 if size == 0 else times(2 * math.atan2(size, q[0]) / size, q[1:])


def yaw_of(q):
    w, x, y, z = q
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


IDENTITY = ([0.0] * 3, [1.0, 0.0, 0.0, 0.0])


def pose_of(numbers):
    return list(numbers[:3]), from_rpy(*numbers[3:6])


def compose(outer, inner):
    """The pose `inner`, given in the frame `outer`, in the frame in which `outer` is given."""
    return plus(outer[0], turn(outer[1], inner[0])), quaternion_times(outer[1], inner[1])


def back(pose):
    q = inverse(pose[1])
    return times(-1, turn(q, pose[0])), q


def into(pose, point):
    """A point of the world in the frame at `pose`."""
    return turn(inverse(pose[1]), minus(point, pose[0]))


# --- matrices: a list of rows; bodies: (mass, centre, inertia about the centre), all in one frame -----------------------


def matrix_of(q):
    return [list(row) for row in zip(*(turn(q, axis) for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1])))]


def times_matrix(a, b):
    return [[dot(row, column) for column in zip(*b)] for row in a]


def apply(a, v):
    return [dot(row, v) for row in a]


def turned_matrix(q, a):
    """The tensor `a`, given in axes that q turns, in the axes around them."""
    r = matrix_of(q)
    return times_matrix(times_matrix(r, a), [list(row) for row in zip(*r)])


def solve(a, b):
    """x of a x = b, by elimination with the largest pivot."""
    rows = [list(row) + [right] for row, right in zip(a, b)]
    for i in range(len(rows)):
        at = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[at] = rows[at], rows[i]
        for k in range(len(rows)):
            if k != i:
                rows[k] = minus(rows[k], times(rows[k][i] / rows[i][i], rows[i]))
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def shift_term(mass, d):
    """What a mass at d adds to the inertia about the origin."""
    return [[mass * (dot(d, d) * (i == j) - d[i] * d[j]) for j in range(3)] for i in range(3)]


def added(*matrices):
    return [plus(*rows) for rows in zip(*matrices)]


def joined(bodies):
    """Several bodies as one."""
    mass = sum(m for m, _, _ in bodies)
    centre = times(1 / mass, plus(*(times(m, c) for m, c, _ in bodies)))
    return mass, centre, added(*(added(i, shift_term(m, minus(c, centre))) for m, c, i in bodies))


def placed(body, pose):
    mass, centre, inertia = body
    return mass, compose(pose, (centre, [1, 0, 0, 0]))[0], turned_matrix(pose[1], inertia)


def diagonal(*numbers):
    return [[numbers[i] * (i == j) for j in range(3)] for i in range(3)]


def tensor_text(i):
    return ''.join(f'<{name}>{i[a][b]!r}</{name}>' for name, a, b in
                   (('ixx', 0, 0), ('iyy', 1, 1), ('izz', 2, 2), ('ixy', 0, 1), ('ixz', 0, 2), ('iyz', 1, 2)))


# --- the program ----------------------------------------------------------------------------------------------------


def text_of(numbers):
    return ' '.join(repr(float(n)) if isinstance(n, float) else str(n) for n in numbers)


def pose_text(numbers, attributes=''):
    return f'<pose{attributes}>{text_of(numbers)}</pose>'


def sdf(inside, name='w', version='1.11'):
    return f'<sdf version="{version}"><world name="{name}">{inside}</world></sdf>'


def write(name, text):
    path = os.path.join(scratch, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def run(*arguments, status=0):
    """The standard output of the command `troupe ARGUMENTS`, which must end with this status."""
    done = subprocess.run([TROUPE, *arguments], capture_output=True, text=True, check=False, timeout=300)
    expect(done.returncode == status, 'troupe', *arguments, f'ended with {done.returncode}:', done.stderr[-2000:])
    return done.stdout


def world_of(text, **how):
    """A troupe.World of this text. A refusal is a difference: twins draw worlds that are right."""
    import troupe
    how.setdefault('secondaries', 0)
    try:
        return troupe.World(text=text, **how)
    except troupe.Error as why:
        raise Difference(f'the world is refused: {why}') from None


def observed(thing):
    """Pose and twist of a Model or Link of the module: (place, quaternion), (velocity, angular velocity)."""
    p, t = thing.pose, thing.twist
    return (list(p[:3]), list(p[3:])), (list(t[:3]), list(t[3:]))


def stamp_of(message):
    """Simulated seconds of a message's header, from a dict."""
    stamp = message['header'].get('stamp', {})
    return int(stamp.get('sec', 0)) + int(stamp.get('nsec', 0)) * 1e-9


# --- running cases --------------------------------------------------------------------------------------------------

cases = []


def case(quick, full):
    def add(function):
        cases.append((function, quick, full))
        return function
    return add


def other(name):
    """The module of another twin, for its shapes and formulas. Its cases do not run here."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(os.path.dirname(os.path.realpath(__file__)), name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    own = list(cases)
    loader.exec_module(module)
    cases[:] = own
    return module


def tried(function, seed, draws=None):
    """(the difference, or None; the dice)"""
    dice = Dice(f'{function.__name__} {seed}', draws)
    try:
        function(dice)
    except Difference as why:
        return str(why), dice
    return None, dice


def still_fails(function, draws):
    """(a difference or None, its dice) with these draws; draws that make no case are no difference."""
    try:
        return tried(function, 0, draws)
    except Exception:  # of the twin: a reduced draw may be nonsense to it
        return None, None


def reduced(function, dice, why):
    """The difference and the notes with as many draws replaced by 0 as REDUCE_TRIES tries allow."""
    tries, size, end = 0, max(len(dice.draws) // 2, 1), time.monotonic() + REDUCE_S
    while size:
        at = 0
        while at < len(dice.draws) and tries < REDUCE_TRIES and time.monotonic() < end:
            draws = dice.draws[:at] + [0.0] * len(dice.draws[at:at + size]) + dice.draws[at + size:]
            if draws != dice.draws:
                tries += 1
                other, with_draws = still_fails(function, draws)
                if other:
                    why, dice = other, with_draws
            at += size
        size //= 2
    return why, dice.notes


def child(function, seeds, pipe):
    """Runs the seeds, and writes a line for each that is begun and each that failed."""
    def tell(**what):
        os.write(pipe, (json.dumps(what) + '\n').encode())
    failures = 0
    for seed in seeds:
        tell(begun=seed)
        why, dice = tried(function, seed)
        if why:
            failures += 1
            if failures <= SHOWN:
                why, notes = reduced(function, dice, why)
                tell(failed=seed, why=why, notes=notes)
            else:
                tell(failed=seed, why=why, notes=[])


def run_case(function, seeds):
    """(how many passed, how many failed)"""
    here, there = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        os.close(here)
        status = 1
        try:
            child(function, seeds, there)
            status = 0
        except Exception:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(there)
    begun, failed = None, {}
    with os.fdopen(here, encoding='utf-8') as lines:
        for line in lines:
            said = json.loads(line)
            if 'begun' in said:
                begun = said['begun']
            else:
                failed[said['failed']] = said
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status and begun is not None:
        failed[begun] = {'why': f'the process ended with {status} (a signal, if negative)', 'notes': []}
    for seed, said in list(failed.items())[:SHOWN]:
        for note in said['notes']:
            print(f'    {note}')
        print(f'failed: {function.__name__}: {said["why"]}')
        print(f'    repeat: {sys.argv[0]} --case {function.__name__} --seed {seed}')
    if len(failed) > SHOWN:
        print(f'failed: {function.__name__}, further seeds:', *list(failed)[SHOWN:])
    ran = seeds.index(begun) + 1 if begun is not None else 0
    return ran - len(failed), len(failed) + (1 if ran == 0 else 0)


def main():
    import argparse
    global scratch
    options = argparse.ArgumentParser(description=sys.modules['__main__'].__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--case', choices=[function.__name__ for function, _, _ in cases])
    options.add_argument('--seed', type=int, default=None, help='only this seed, or the first with --count')
    options.add_argument('--count', type=int, default=None)
    given = options.parse_args()
    if '-fsanitize' in os.environ.get('TEST_CC', ''):
        print(f'skipped: {os.path.basename(sys.argv[0])}: a library with a sanitizer: tests/python/test_python.sh loads it')
        print('0 passed, 0 failed, 1 skipped')
        return
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for function, quick, full in cases:
            if given.case in (None, function.__name__):
                first = given.seed or 0
                count = given.count or (1 if given.seed is not None else full if os.environ.get('TROUPE_TEST_FULL') else quick)
                good, bad = run_case(function, list(range(first, first + count)))
                passed, failed = passed + good, failed + bad
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)
