"""Runs every block of commands of some pages, so that a page is wrong only if this fails.

    run_blocks.py PAGE...     pages of $SOURCE_DIR, such as README or src/doc/reference/python.md

A block is what stands between two lines of ```. In README, which is read as plain text, it may also be indented by four
blanks. The word behind the first ``` says what is done with it:

    sh           a shell runs it (sh -e) in a folder of its own, with the program as build/troupe, and as troupe in
                 PATH. What it leaves in the background must end well, too. A run that ends by nothing that the block
                 says is ended as Ctrl-C does. Ports are replaced by free ones
    python       is executed, all blocks of a page in one program, in the same folder
    xml          is well-formed, and the elements are put into a file if there is a name
    text         is not run: output, a table, a picture of something. No line of it may be a command
    WORD-other   is not run, and counted as skipped: the comment before it says why

Indented blocks that begin with "import" are Python, and others are commands. These comments may stand before a block:

    <!-- file: NAME -->       the block is written into this file of the folder, for the blocks behind it
    <!-- then: COMMANDS -->   a shell runs this after the block; the output of the block is in the file out
    <!-- needs: FEATURE -->   mpi: the block is skipped where there is none
    <!-- not run: WHY -->     of a block WORD-other

All pages of src/doc, and README, must be named by a test of this folder or of tests/python (every_page_has_a_test()).
The last line is "N passed, N failed", with ", N skipped" when there are any.
"""
# optional commands: mpirun
import contextlib
import io
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections import namedtuple

SOURCE = os.path.abspath(os.environ.get("SOURCE_DIR") or os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gateway"))
import ros_domain  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD_DIR") or os.path.join(SOURCE, "build"))
TROUPE = os.path.abspath(os.environ.get("TROUPE") or os.path.join(BUILD, "troupe"))
LIMIT_S = 250  # of one block
SERVED_S = 3  # a run without an end is ended after that long

Block = namedtuple("Block", "page line kind text notes")

# What begins a line of a shell: none of these may stand in a block that is not run.
COMMAND = re.compile(r"(\$ )?(\./bootstrap|\./configure|(build/)?troupe (run|replay|bisect|diff|mcap|view|plot|check|print|worlds|topics|keygen|topic|service)|"
                     r"python3?|make|cc|gcc|mpirun|srun|ros2|gz|ign-\w+|sudo|apt-get|git|cd|export)\b(?! *:)")
NOTE = re.compile(r"<!-- (file|then|needs|not run): (.*?) -->", re.S)
# the two commands, which take too long, and install packages: tests/bare_root runs them
BOOTSTRAP = re.compile(r"\./bootstrap (run|check|build)\b")
PORTS = re.compile(r"(?<![\w.])(8765|8766|9090|40001|47083)(?![\w.])")
# options of a run that not every build has
GATEWAYS = ("--ros2", "--rosbridge", "--foxglove", "--view")


class Wrong(Exception):
    pass


def blocks_of(page, text):
    """The blocks of a page, with the comments that stand directly before each."""
    lines = text.split("\n")
    notes, i = [], 0
    while i < len(lines):
        line, begin = lines[i], i
        fence = re.match(r"( *)```(.*)$", line)
        if fence:
            i += 1
            while i < len(lines) and lines[i].strip() != "```":
                i += 1
            if i == len(lines):
                raise Wrong("%s:%d: the block has no end" % (page, begin + 1))
            body = [other[len(fence.group(1)):] for other in lines[begin + 1:i]]
            yield Block(page, begin + 2, fence.group(2).strip(), "\n".join(body) + "\n", notes)
            notes = []
        elif line.startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            if page != "README":
                raise Wrong("%s:%d: an indented block: expected ``` and a word that says what it is" % (page, begin + 1))
            while i < len(lines) and (not lines[i].strip() or lines[i].startswith("    ")):
                i += 1
            body = "\n".join(other[4:] for other in lines[begin:i]).rstrip() + "\n"
            yield Block(page, begin + 1, "python" if body.startswith("import ") else "sh", body, notes)
            notes = []
            continue
        elif line.startswith("<!-- "):
            while "-->" not in lines[i]:
                i += 1
            found = "\n".join(lines[begin:i + 1])
            match = NOTE.fullmatch(found.strip())
            if match:
                notes = notes + [(match.group(1), " ".join(match.group(2).split()))]
        elif line.strip():
            notes = []
        i += 1


def free_port():
    """A port that no program has, below those that the system gives to outgoing connections."""
    while True:
        port = random.randrange(10000, 30000)
        with contextlib.suppress(OSError), socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as packets:
            stream.bind(("", port))
            packets.bind(("", port))
            return port


def here(text):
    ports = {}
    text = text.replace("build/python", BUILD + "/python")  # the module searches for the library beside its own folder
    text = PORTS.sub(lambda found: str(ports.setdefault(found.group(), free_port())), text)
    network = "127.0.0.1:%d" % free_port()
    partition = " --network-partition doc%d" % os.getpid()
    text = re.sub(r"--network-role primary(?![^\n]*--network-listen)", r"\g<0> --network-listen " + network + partition, text)
    text = re.sub(r"(--network-address) 127\.0\.0\.1(?=\s)", r"\1 " + network + partition, text)
    watch = ports.get("47083")
    return re.sub(r"(--connect) 127\.0\.0\.1(?=\s)", r"\1 127.0.0.1:%s" % watch, text) if watch else text


class Folder:
    """Where the blocks of one page run."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="doc")
        self.names = {"__name__": "page"}
        for folder in ("build", "bin", "home", "tests"):
            os.mkdir(self.at(folder))
        for name in ("build/troupe", "bin/troupe"):
            os.symlink(TROUPE, self.at(name))
        for name in ("worlds", "bench", "src", "include"):
            os.symlink(os.path.join(SOURCE, name), self.at(name))
        with open(self.at("bin/python3"), "w") as python:
            python.write("#!/bin/sh\nexec '%s' \"$@\"\n" % sys.executable)
        os.chmod(self.at("bin/python3"), 0o755)
        shutil.copytree(os.path.join(SOURCE, "tests/examples"), self.at("tests/examples"), copy_function=shutil.copyfile)
        os.mkdir(self.at("tests/gateway"))
        for name in "rosbridge_client.py", "web_socket.py":
            shutil.copy(os.path.join(SOURCE, "tests/gateway", name), self.at("tests/gateway"))
        for where, _, _ in os.walk(self.at("tests")):
            os.chmod(where, 0o755)
        # the library, as pkg-config shows it after make install
        with open(self.at("bin/troupe.pc"), "w") as pc:
            pc.write("worldsdir=%s/worlds\nName: troupe\nDescription: troupe\nVersion: 0\nCflags: -I%s/include\n"
                     "Libs: -L%s/.libs -ltroupe\n" % (SOURCE, SOURCE, BUILD))
        drop = ("TROUPE_NO_GZ", "GZ_SIM_RESOURCE_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH", "AMENT_PREFIX_PATH",
                "ROS_PACKAGE_PATH", "MENGE_RESOURCE_PATH", "XDG_CONFIG_HOME")
        self.environment = {name: value for name, value in os.environ.items() if name not in drop}
        self.environment.update(
            HOME=self.at("home"), PATH=self.at("bin") + ":" + os.environ["PATH"], PKG_CONFIG_PATH=self.at("bin"),
            LD_LIBRARY_PATH=os.path.join(BUILD, ".libs"), PYTHONDONTWRITEBYTECODE="1", GZ_PARTITION="doc%d" % os.getpid(),
            ROS_DOMAIN_ID=str(ros_domain.claim()), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")

    def at(self, name):
        return os.path.join(self.path, name)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def processes_below(pid):
    """The processes that a process has started, and theirs."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/stat" % name) as stat:
            parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


ENDLESS = re.compile(r"\btroupe (?:run|view)\b|\btroupe replay\b.*--foxglove")
ENDING = re.compile(r"--(until|iterations|help|until-step|network-address)\b|--network-role (secondary|standby|client)")


def ends_by_itself(text):
    """Whether no command of it waits for Ctrl-C."""
    lines = re.sub(r"\\\n", " ", text).split("\n")
    return not any(ENDLESS.search(line) and not ENDING.search(line) for line in lines)


def endless_below(pid):
    """The processes below it that wait for Ctrl-C."""
    for child in processes_below(pid):
        with contextlib.suppress(OSError), open("/proc/%d/cmdline" % child, "rb") as file:
            words = file.read().decode(errors="replace").split("\0")
            if os.path.realpath("/proc/%d/exe" % child) == os.path.realpath(TROUPE) and \
                    not ends_by_itself("troupe " + " ".join(words[1:])):
                yield child


# Waits for all that a block has left in the background; a process that the block itself kills may end so.
WAIT = """job_pids=
wait_for_all()
{
    for job in $job_pids; do
        job_status=0
        wait "$job" || job_status=$?
        [ $job_status = 0 ] || [ $job_status = KILLED ] || {
            echo "a command in the background ended with status $job_status"
            exit 1
        }
    done
    job_pids=
}
"""


@contextlib.contextmanager
def primary_port(text):
    """A primary listens at its default port: blocks of pages that are tested side by side take turns. A name of a socket is
    free again when the process has ended in whatever way."""
    with socket.socket(socket.AF_UNIX) as turn:
        until = time.monotonic() + 2 * LIMIT_S
        while "--network-role primary" in text and time.monotonic() < until:
            try:
                turn.bind("\0troupe-tests-of-pages")
                break
            except OSError:
                time.sleep(0.1)
        yield


def run_shell(folder, text, out):
    """Runs it; returns what is wrong, or None."""
    script = re.sub(r"(?<!&)&((?: \w+=\$!)?) *$", r'&\1 job_pids="$job_pids $!"', text, flags=re.M)
    script = re.sub(r"^wait$", "wait_for_all", script, flags=re.M)
    script = WAIT.replace("KILLED", "137" if "kill -KILL" in text else "0") + script + "\nwait_for_all\n"
    ends = ends_by_itself(text)
    with open(out, "wb") as output:
        shell = subprocess.Popen(["sh", "-ec", script], cwd=folder.path, env=folder.environment, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    begin, seen, interrupted = time.monotonic(), {}, False
    try:
        while shell.poll() is None:
            now = time.monotonic()
            if now - begin > LIMIT_S:
                return "it was still running after %d s" % LIMIT_S
            for pid in () if ends else endless_below(shell.pid):
                if now - seen.setdefault(pid, now) > SERVED_S:
                    interrupted, seen[pid] = True, now
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGINT)
            time.sleep(0.05)
        if shell.returncode:
            return "it ended with status %d" % shell.returncode
        if not ends and not interrupted:
            return "no command of it was still running after %d s: expected one that waits for Ctrl-C" % SERVED_S
    finally:
        for pid in processes_below(shell.pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    return None


def run_python(folder, block, out):
    here = os.getcwd()
    os.chdir(folder.path)
    try:
        with open(out, "w") as output, contextlib.redirect_stdout(output):
            exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec"), folder.names)
    except BaseException:  # pylint: disable=broad-except
        return traceback.format_exc()
    finally:
        os.chdir(here)
    return None


def why_not(text, features={}):
    """Why a build cannot run these commands, or None."""
    for option in GATEWAYS:
        if option + " " not in text + " " and option + "\n" not in text:
            continue
        if option not in features:
            port = ["0"] if option in ("--rosbridge", "--foxglove") else []
            done = subprocess.run([TROUPE, "run", os.path.join(SOURCE, "worlds/shapes.sdf"), "--iterations", "1", "--no-gz", option] + port,
                                  capture_output=True, text=True)
            features[option] = done.returncode and "this build has no %s: %s" % (option, (done.stderr.splitlines() or [""])[0])
        if features[option]:
            return features[option]
    return None


def why_not_mpi(environment):
    if os.environ.get("WITH_MPI") == "no":
        return "this build is without MPI"
    done = subprocess.run(["sh", "-c", "command -v mpirun >/dev/null || exit 9; exec mpirun -n 2 true"], env=environment,
                          capture_output=True, text=True)
    if done.returncode == 9:
        return "there is no mpirun here"
    return "mpirun starts nothing here: %s" % done.stderr.strip()[:200] if done.returncode else None


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def skip(self, what, why):
        self.skipped += 1
        print("skipped: %s: %s" % (what, why))

    def fail(self, what, why, out=None):
        self.failed += 1
        print("FAILED: %s: %s" % (what, why))
        if out and os.path.exists(out):
            with open(out, errors="replace") as output:
                for line in output.read().splitlines()[-25:]:
                    print("    out: " + line)

    def last_line(self):
        print("%d passed, %d failed%s" % (self.passed, self.failed, ", %d skipped" % self.skipped if self.skipped else ""))
        return 1 if self.failed or not self.passed else 0


def do(block, folder, totals):
    what = "%s:%d" % (block.page, block.line)
    note = dict(block.notes)
    text, out = block.text, folder.at("out")
    if block.kind == "text" or block.kind.endswith("-other"):
        if block.kind == "text":
            for line in text.split("\n"):
                if COMMAND.match(line):
                    return totals.fail(what, "a command in a block that is not run: %s" % line)
            totals.passed += 1
            return None
        if "not run" not in note:
            return totals.fail(what, "a block that is not run, without a reason: expected <!-- not run: WHY --> before it")
        return totals.skip(what, note["not run"])
    if note.get("needs") == "mpi":
        why = why_not_mpi(folder.environment)
        if why:
            return totals.skip(what, why)
    if "file" in note:
        with open(folder.at(note["file"]), "w") as file:
            file.write(text)
    if block.kind == "sh":
        if BOOTSTRAP.match(text):
            return totals.skip(what, "tests/bare_root runs these commands")
        if why_not(text):
            return totals.skip(what, why_not(text))
        with primary_port(text):
            wrong = run_shell(folder, here(text), out)
    elif block.kind == "python":
        wrong = run_python(folder, block, out)
    elif block.kind == "xml":
        try:
            ElementTree.fromstring(text if text.startswith("<?xml") else "<all>%s</all>" % text)
            wrong = None
        except ElementTree.ParseError as why:
            wrong = str(why)
    elif "file" in note:
        wrong = None
    else:
        wrong = "'%s' is not known: expected sh, python, xml, text, WORD-other, or a file" % block.kind
    if wrong:
        return totals.fail(what, wrong, out)
    for then in (value for name, value in block.notes if name == "then"):
        done = subprocess.run(["sh", "-ec", then], cwd=folder.path, env=folder.environment, capture_output=True, text=True,
                              timeout=LIMIT_S)
        if done.returncode:
            return totals.fail(what, "then '%s' ended with status %d: %s%s" % (then, done.returncode, done.stdout, done.stderr), out)
    totals.passed += 1
    return None


def run_page(page, totals):
    """Returns what the page's program in Python has, by name."""
    with open(os.path.join(SOURCE, page)) as file:
        text = file.read()
    folder = Folder()
    try:
        blocks = list(blocks_of(page, text))
        for block in blocks:
            do(block, folder, totals)
        totals.passed += not blocks  # it was read
        return folder.names
    except Wrong as why:
        totals.fail(page, str(why))
        return folder.names
    finally:
        folder.remove()


def every_page_has_a_test(totals):
    tests = ""
    for folder in ("tests/doc", "tests/python"):
        for name in sorted(os.listdir(os.path.join(SOURCE, folder))):
            if name.startswith("test_"):
                with open(os.path.join(SOURCE, folder, name)) as file:
                    tests += file.read()
    pages = ["README"]
    for where, _, names in os.walk(os.path.join(SOURCE, "src/doc")):
        pages += [os.path.relpath(os.path.join(where, name), SOURCE) for name in names if name.endswith(".md")]
    for page in sorted(pages):
        count = len(re.findall(r"(?<![\w/.])%s(?![\w/.])" % re.escape(page), re.sub(r"^#.*$", "", tests, flags=re.M)))
        if count:
            totals.passed += 1
        else:
            totals.fail(page, "no test of tests/doc or tests/python runs this page")


def main(arguments):
    if not arguments or arguments[0].startswith("-") and arguments != ["--every-page"]:
        print(__doc__)
        return 2
    sys.path.insert(0, os.path.join(BUILD, "python"))
    totals = Totals()
    if arguments == ["--every-page"]:
        every_page_has_a_test(totals)
    else:
        for page in arguments:
            run_page(page, totals)
    return totals.last_line()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
