#!/usr/bin/env python3
# programs: tests/determinism/random_worlds
"""What many worlds put out, compared with what earlier versions put out: a change that has the same wrong effect in every
way of running a world changes it, too, and no other test needs to have thought of it.

The worlds are random ones (random_worlds) and all that are files below worlds/ and tests/; those of tests/worlds/outputs are
there to have every element, system and sensor, each with parameters that matter. tests/data/outputs has a line for each:

    WORLD STATES ANSWERS WARNINGS TABLE TOPICS TEXT

STATES: the hash of each step. ANSWERS: to commands, the loads of levels, and the exit status. WARNINGS: those on standard
error. TABLE: --log. TOPICS: the messages on all topics, but for those with real times, costs or names of folders, and compressed
pictures; in half of the worlds as nodes of ROS 2 see them. TEXT: what print and other commands say. Each is the beginning of
a SHA-256 digest. Some worlds run on two secondaries over TCP, with the same outcome. Three lines at the end have the frames
that programs like PX4 and ArduPilot get, and what other commands make of recordings and tables.

A difference that is meant: make update-golden writes the file anew. To see what differs in a world, compare the output of
`test_outputs.py --show WORLD` with that of an earlier version.

usage: test_outputs.py [--update | --show WORLD]
"""
import collections
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.abspath(os.environ.get('SOURCE_DIR') or os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.path.abspath(os.environ.get('BUILD_DIR') or os.path.join(SOURCE, 'build'))
TROUPE = os.path.abspath(os.environ.get('TROUPE') or os.path.join(BUILD, 'troupe'))
GOLDEN = os.path.join(SOURCE, 'tests', 'data', 'outputs')
KINDS = ('mixed', 'levels', 'joints', 'pile', 'edits', 'sleep', 'reset', 'floor', 'tied', 'systems', 'hit')
SEEDS = {'systems': 20, 'mixed': 20}  # of each kind; of the others SEEDS_USUAL
SEEDS_USUAL = 8
STEPS = 100  # of a world that is a file
APART = 7  # one of so many worlds runs on two secondaries, over TCP
LIMIT_S = 120
READERS = (['print', '--flat'], ['check'], ['check'], ['topics', '--json'])  # one of them reads each world, too
SHOWN = 20  # of the worlds that differ
COLUMNS = ('states', 'answers', 'warnings', 'table', 'topics', 'text')
# with real times, costs, or the number of secondaries; and with bytes of libjpeg and zlib
LEFT_OUT = re.compile(r'((/world/[^/]+)?/(stats|secondaries|clock|view)|.*/compressed(Depth)?)$')
REMARKS = re.compile('warning|error|upright|could not|expected')  # other lines of the summary have times, and names of programs
OF_ASSIMP = re.compile('data/mesh/broken_')  # what is said of these depends on the library that reads meshes
World = collections.namedtuple('World', 'name file options folder')

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'gateway'))
import mcap_reader  # noqa: E402

# without what tells troupe of other folders; HOME is a folder of this run
environment = {name: value for name, value in os.environ.items() if not name.startswith(
    ('AMENT_', 'COLCON_', 'GAZEBO_', 'GZ_', 'IGN_', 'MENGE_', 'ROS_', 'SDF_', 'TROUPE_', 'XDG_'))}
environment.update(TROUPE_NO_GZ='1', LC_ALL='C', TROUPE=TROUPE, SOURCE_DIR=SOURCE,
                   GZ_SIM_RESOURCE_PATH=os.path.join(SOURCE, 'worlds'))


def digest(*texts):
    whole = hashlib.sha256()
    for text in texts:
        whole.update(text if isinstance(text, bytes) else text.encode())
    return whole.hexdigest()[:8]


# --- worlds -------------------------------------------------------------------------------------------------------------


def random_world(kind, seed, scratch):
    """Written into a folder of its own."""
    folder = os.path.join(scratch, f'{kind}_{seed}')
    os.mkdir(folder)
    done = subprocess.run([os.path.join(BUILD, 'tests', 'determinism', 'random_worlds'), '--first', str(seed), '--count', '1',
                           '--only', kind, '--write', folder], cwd=BUILD, env=environment, capture_output=True, text=True, check=True)
    name, *options = done.stdout.split(': run ')[1].split()
    return World(f'{kind}_{seed}', name, options, folder)


def file_world(path):
    """With the commands in the file of the same name, if there is one."""
    folder, name = os.path.split(path)
    bare, options = os.path.splitext(path)[0], ['--iterations', str(STEPS)]
    if os.path.exists(bare + '.commands'):
        options += ['--commands', os.path.basename(bare) + '.commands']
    return World(os.path.relpath(path, SOURCE), name, options, folder)


def worlds(scratch):
    for kind in KINDS:
        for seed in range(1, SEEDS.get(kind, SEEDS_USUAL) + 1):
            yield random_world(kind, seed, scratch)
    for top in ('tests', 'worlds'):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(SOURCE, top)) for name in names]
        yield from (file_world(path) for path in sorted(paths) if path.endswith(('.sdf', '.urdf')) and not OF_ASSIMP.search(path))
    for name in (*AUTOPILOTS, 'tools'):
        yield World(name, None, [], None)


# --- what they put out --------------------------------------------------------------------------------------------------


def call(words, folder):
    """(exit status, standard output, standard error)"""
    done = subprocess.run([TROUPE, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def without_places(text):
    """Without names of folders of this build."""
    return re.sub('is not found (in|beside) [^:]*:', 'is not found:', text.replace(SOURCE, 'SOURCE'))


def told(words, folder):
    """All that a command says, without names of folders."""
    status, said, warnings = call(words, folder)
    return without_places(f'{said}{warnings}{status}\n').replace(folder, 'FOLDER')


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return b''


def topics_of(path):
    """{topic: digest of its messages}"""
    found = {}
    try:
        for topic, time_ns, body in mcap_reader.messages(path) if os.path.exists(path) else ():
            if not LEFT_OUT.match(topic) and SOURCE.encode() not in body:
                found.setdefault(topic, hashlib.sha256()).update(b'%d %d ' % (time_ns, len(body)) + body)
    except mcap_reader.Damaged as why:  # of a run that crashed: a world that differs, not the end of the test
        return {'recording': str(why)}
    return {topic: whole.hexdigest()[:8] for topic, whole in sorted(found.items())}


def outputs_of(world, scratch):
    """The columns, as texts."""
    if world.name in AUTOPILOTS:
        return autopilot_outputs(world.name, scratch)
    if world.name == 'tools':
        return tools_outputs(scratch)
    number = int(digest(world.name), 16)  # what is done with a world does not depend on the others
    table, bag = os.path.join(scratch, 'table.csv'), os.path.join(scratch, 'topics.mcap')
    for path in (table, bag):
        if os.path.exists(path):
            os.unlink(path)
    apart = ['--secondaries', '0']
    if number // 2 % APART == 0:
        apart = ['--secondaries', '2', '--transport', 'tcp', '--network-stale-ms', str(500 * LIMIT_S),
                 '--save-on-stop', os.path.join(scratch, 'lost')]  # else a folder that cannot be written is refused
    status, said, remarks = call(
        ['run', world.file, *world.options, *apart, '--rtf', '0', '-v', '2', '--hash-every', '1', '--trace', '--log', table, '--log-every', '7',
         '--log-what', 'model,joint,odometry,link,effort,contact,sensor', '--mcap', bag, '--topic', '*',
         '--mcap-names', 'ros' if number % 2 else 'gz'], world.folder)
    lines, remarks = said.splitlines(), without_places(remarks.replace(scratch, 'SCRATCH'))
    topics = topics_of(bag)
    return {'states': '\n'.join(line for line in lines if line.startswith('hash ')),
            'answers': '\n'.join([line for line in lines if line.startswith(('reply ', 'load ', 'unload '))] + [str(status)]),
            'warnings': '\n'.join(line for line in remarks.splitlines() if REMARKS.search(line)), 'table': read(table).decode(errors='replace'),
            'topics': '\n'.join(f'{topic} {of_topic}' for topic, of_topic in topics.items()),
            'text': ''.join(told([*reader, world.file], world.folder)
                            for reader in (['print'], ['topics'], READERS[number // 4 % len(READERS)]))}


def line_of(world, texts):
    return ' '.join([world.name] + [digest(texts[column]) for column in COLUMNS])


# --- what autopilots have from two vehicles, in lockstep ------------------------------------------------------------------

AUTOPILOTS = {
    'px4': ('px4_world.sh', 'px4_world 0.004 "$(px4_copter iris $0 0 0)$(px4_copter second $(($0 + 1)) 3 1)"', 'px4_sitl.py', 'iris',
            'PX4: TCP'),
    'ardupilot': ('ardupilot_world.sh', 'world 0.002 "$(rover cart $0 0 0 \'\')$(rover second $(($0 + 1)) 3 1 \'\')"', 'sitl.py', 'cart',
                  'ArduPilot: UDP')}
FRAMES = 400


def free_ports():
    """The first of two ports that nothing uses, below those that the system gives away."""
    while True:
        port = random.randrange(20000, 32000)
        try:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                for at in (port, port + 1):
                    with socket.socket(socket.AF_INET, kind) as found:
                        found.bind(('127.0.0.1', at))
            return str(port)
        except OSError:
            continue


def autopilot_run(name, port, scratch):
    """(the run, once it serves the vehicles; or when it has ended, because another program has the port)"""
    script, make, _, first, ready = AUTOPILOTS[name]
    path = os.path.join(scratch, f'{name}.sdf')
    text = subprocess.run(['sh', '-c', f'. "$1"; {make}', port, os.path.join(SOURCE, 'tests', 'gateway', script)],
                          capture_output=True, text=True, check=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text.stdout)
    with open(path + '.err', 'wb') as said:
        run = subprocess.Popen([TROUPE, 'run', path, '--serve', name, '--wait-for', first, '--wait-for', 'second'],
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
    while run.poll() is None and ready.encode() not in read(path + '.err'):
        time.sleep(0.01)
    return run


def autopilot_outputs(name, scratch):
    """{column: text}: the digests of all frames, in the column of topics."""
    for _ in range(5):
        port = free_ports()
        run = autopilot_run(name, port, scratch)
        if run.poll() is None:
            break
    client = os.path.join(SOURCE, 'tests', 'gateway', AUTOPILOTS[name][2])
    try:
        done = subprocess.run([sys.executable, client, port, str(FRAMES), 'steady', '--fleet', '2'], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
    finally:
        run.kill()
        run.wait()
    said = [json.loads(line)['digest'] for line in done.stdout.splitlines()]
    return dict.fromkeys(COLUMNS, '') | {'topics': '\n'.join(said), 'warnings': done.stderr}


# --- what other commands make of recordings and tables --------------------------------------------------------------------

TOOLS = (
    'run lidar --commands lidar --iterations 300 --record one.rec --record-every 90 --log one.csv --log-every 3 --report one.json',
    'run lidar --commands other --iterations 310 --record two.rec --record-every 70 --commands-out out --save-at 150 saved',
    'run --resume saved --iterations 170 --hash-every 1 --log more.csv --log-what joint,contact', 'replay one.rec --secondaries 0',
    'replay two.rec --secondaries 2 --mcap two.mcap --mcap-names ros', 'diff one.rec two.rec --out diff.svg --around 20',
    'diff two.rec two.rec', "bisect two.rec --when 'scout_1.x > scout_1.y' --all", "bisect one.rec --while 'step < 77 or scout_0.z < 0'",
    'mcap one.rec -o one.mcap --topic */scan@5 --topic *odom* --until-step 200', 'plot one.csv --out one.svg',
    'plot one.csv --what model:scout_*,x,yaw --from 0.05 --to 0.25 --title T --width 700 --height 500 --out two.svg',
    "plot one.csv --x x --what 'model:scout_?' --out map.svg",
    'run CAMERAS --iterations 40 --camera-out coco --camera-format coco', 'run CAMERAS --iterations 40 --camera-out kitti --camera-format kitti')
ALONE = ['--secondaries', '0', '--rtf', '0', '-v', '0']
REAL = re.compile('"(wall_time|serial_time|rtf|steps_per_second|peak_memory_bytes|secondaries|secondary|windows)"')  # in a report


def tools_outputs(scratch):
    """{column: text}: what is said as answers, the files as text."""
    folder, said, files = os.path.join(scratch, 'tools'), [], []
    cameras = os.path.join(SOURCE, 'tests', 'worlds', 'outputs', 'cameras.sdf')
    os.mkdir(folder)
    with open(os.path.join(SOURCE, 'worlds', 'lidar.commands'), encoding='utf-8') as file, \
            open(os.path.join(folder, 'other'), 'w', encoding='utf-8') as other:
        other.write(file.read() + '0.16 /model/scout_1/cmd_vel linear: {x: 0.7} angular: {z: -0.9}\n')
    for line in TOOLS:
        words = [cameras if word == 'CAMERAS' else word for word in shlex.split(line)]
        said.append(f'== {line}\n{told(words + (ALONE if words[0] == "run" else []), folder)}')
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(at, name)
            if name.endswith('.mcap'):
                files.append(f'== {name} {topics_of(path)}')
            elif name.endswith(('.csv', '.svg', '.json', '.txt')) or name == 'out':
                lines = read(path).decode(errors='replace').splitlines()
                files.append(f'== {name}\n' + '\n'.join(line for line in lines if not REAL.search(line)))
            else:
                files.append(f'== {name}')
    return dict.fromkeys(COLUMNS, '') | {'answers': '\n'.join(said), 'text': '\n'.join(files)}


# --- comparing ----------------------------------------------------------------------------------------------------------


def fingerprint():
    return re.search('^fingerprint (.*)', call(['--version'], BUILD)[1], re.M).group(1)


def holds_here(other):
    """Whether golden values of a machine with this fingerprint are to be found on this one."""
    own = fingerprint()
    with open(os.path.join(SOURCE, 'tests', 'determinism', 'fingerprints'), encoding='utf-8') as file:
        known = [line.split()[0] for line in file if not line.startswith('#')]
    return own == other or (own in known and other in known)


def compare(scratch):
    """The exit status."""
    passed, failed = 0, 0
    with open(GOLDEN, encoding='ascii') as file:
        first, *lines = file.read().splitlines()
    if not holds_here(first.split()[-1]):
        print(f'skipped: outputs of worlds: they are of another fingerprint than {fingerprint()}')
        print('0 passed, 0 failed, 1 skipped')
        return 0
    golden = {line.split()[0]: line for line in lines}
    for world in worlds(scratch):
        try:
            texts = outputs_of(world, scratch)
        except subprocess.TimeoutExpired as why:
            texts = dict.fromkeys(COLUMNS, str(why))
        line = line_of(world, texts)
        wanted = golden.pop(world.name, f'{world.name} has no line')
        if line == wanted:
            passed += 1
            continue
        failed += 1
        which = [column for column, got, was in zip(COLUMNS, line.split()[1:], wanted.split()[1:]) if got != was]
        print(f'FAILED: {world.name}: other {", ".join(which)} than in tests/data/outputs', flush=True)
        for column in {'warnings', 'answers'}.intersection(which):
            print(f'    its {column} are now: {texts[column][:500]!r}')
        if failed == SHOWN:
            print('    the other worlds are not looked at')
            golden = {}
            break
    for name in golden:
        failed += 1
        print(f'FAILED: {name}: in tests/data/outputs, but there is no such world')
    if failed:
        print('    to see what differs, compare the outputs of tests/determinism/test_outputs.py --show WORLD, and of an earlier '
              'version; if all of it is meant: make update-golden')
    print(f'{passed} passed, {failed} failed')
    return int(failed > 0)


def update(scratch):
    lines = [line_of(world, outputs_of(world, scratch)) for world in worlds(scratch)]
    with open(GOLDEN, encoding='ascii') as file:
        first, *before = file.read().splitlines()
    if not holds_here(first.split()[-1]):
        first = f'# fingerprint {fingerprint()}'
    with open(GOLDEN, 'w', encoding='ascii') as file:
        file.write('\n'.join([first, *lines]) + '\n')
    print(f'outputs: {len(set(lines) - set(before))} of {len(lines)} lines changed')
    return 0


def show(name, scratch):
    for world in worlds(scratch):
        if world.name == name:
            for column, text in outputs_of(world, scratch).items():
                print(f'== {column} {digest(text)}\n{text}')
            return 0
    print(f'test_outputs.py: {name}: expected a world of tests/data/outputs')
    return 2


def main():
    scratch = tempfile.mkdtemp()
    environment['HOME'] = scratch
    try:
        if sys.argv[1:2] == ['--show'] and len(sys.argv) == 3:
            return show(sys.argv[2], scratch)
        if sys.argv[1:] not in ([], ['--update']):
            print(__doc__)
            return 2
        return update(scratch) if sys.argv[1:] else compare(scratch)
    finally:
        shutil.rmtree(scratch)


if __name__ == '__main__':
    sys.exit(main())
