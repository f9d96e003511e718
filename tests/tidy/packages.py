"""Which package brings a command, and may a script of this tree use it?

A script that uses what no listed package brings works where somebody once installed it, and in a bare root it fails, or
passes without testing anything. So each command that a script runs must be in this table, in a package that every Debian
has, or in one that bootstrap lists: for building, or for the tests if the script is a part of them.

A script that can do without a command says so in a line "# optional commands: NAME...", and looks for it itself, with
`command -v NAME`, or shutil.which("NAME").
"""
import functools
import re
import shutil
import subprocess

import shell

# In every root, also a minimal one (debootstrap --variant=minbase): essential packages, and those of priority "required".
ALWAYS = {
    "apt": "apt-cache apt-config apt-get",
    "bash": "bash",
    "coreutils": """[ arch b2sum base32 base64 basename basenc cat chgrp chmod chown chroot cksum comm cp csplit cut date dd df
        dir dircolors dirname du echo env expand expr factor false fmt fold groups head hostid id install join link ln
        logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste pathchk pinky pr printenv printf
        ptx pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split
        stat stdbuf stty sum sync tac tail tee test timeout touch tr true truncate tsort tty uname unexpand uniq unlink
        users vdir wc who whoami yes""",
    "dash": "dash sh",
    "diffutils": "cmp diff diff3 sdiff",
    "dpkg": "dpkg dpkg-deb dpkg-query",
    "findutils": "find xargs",
    "grep": "egrep fgrep grep",
    "gzip": "gunzip gzip zcat",
    "hostname": "hostname",
    "libc-bin": "getconf getent iconv ldd locale",
    "mawk": "awk mawk",
    "mount": "mount umount",
    "ncurses-bin": "tput",
    "perl-base": "perl",
    "sed": "sed",
    "sysvinit-utils": "pidof",
    "tar": "tar",
    "util-linux": """chrt dmesg fallocate findmnt flock getopt ionice lscpu mcookie mountpoint nsenter prlimit runuser setarch
        setpriv setsid su taskset unshare""",
}
# In packages that bootstrap installs, or that come with these.
INSTALLED = {
    "autoconf": "autoconf autoheader autoreconf",
    "automake": "aclocal automake",
    "binutils": "addr2line ar nm objcopy objdump readelf size strings strip",
    "g++": "g++",
    "gcc": "cc gcc",
    "iproute2": "ip ss tc",
    "libtool": "libtoolize",
    "make": "make",
    "pkgconf": "pkg-config",
    "python3": "python3",
}
# Made by update-alternatives: no package has a file of that name, but one of this pattern.
ALTERNATIVES = {"awk": "mawk", "cc": "gcc", "aclocal": r"aclocal-1\.\d+", "automake": r"automake-1\.\d+"}

OWNER = {name: package for table in (ALWAYS, INSTALLED) for package, names in table.items() for name in names.split()}
# Only these may use what is there for the tests.
TEST_PATHS = ("tests/", "bench/", "worlds/", ".ci/")


def listed(bootstrap):
    """(packages to build, packages for tests) of bootstrap's lists."""
    found = {kind: re.split(r"[\s|]+", names) for kind, names in re.findall(r"^(build|test)_packages='([^']*)'", bootstrap, flags=re.M)}
    build = frozenset(["gcc", *found.get("build", [])])
    return build, build.union(found.get("test", []))


def interpreter(text):
    """The name in the first line, or None."""
    match = re.match(r"#! *(?:/usr)?/bin/(?:env +)?(\w[\w.-]*)", text)
    return match and match.group(1)


@functools.lru_cache(maxsize=None)
def reads(text):
    """Paths in the tree of the scripts that it reads into itself."""
    return re.findall(r"^\s*\.\s+\S*?((?:tests|bench)/[\w./-]+)", text, flags=re.M)


def known_to(tree):
    """{path: texts whose functions the script knows}: of scripts that it reads, that these read in turn, and, if others
    read it, what they know."""
    known = {path: {path, *reads(text)} for path, text in tree.items() if reads(text)}
    for paths in known.values():
        more = paths
        while more:
            more = {other for path in more for other in reads(tree.get(path, ""))} - paths
            paths |= more
    for path, paths in list(known.items()):
        for other in paths - {path}:
            known.setdefault(other, {other}).update(paths)
    return {path: tuple(tree[name] for name in sorted(paths - {path}) if name in tree) for path, paths in known.items()}


def used(path, text, others):
    """(line, name) of each command that a file runs; shell.UNKNOWN for one that cannot be seen. others: what it reads."""
    name = interpreter(text)
    found = [(1, name)] if name else []
    if path.endswith(".am"):
        found += shell.recipes(text)
    elif path.endswith((".c", ".h")):
        found += shell.c_commands(text)
    elif path.endswith(".py") or name == "python3":
        found += shell.python_commands(text)
    elif path.endswith(".sh") or name in shell.SHELLS:
        found += shell.commands(text, others)
    return found


def complaint(path, text, name, build, tests):
    """What is wrong with the use of the command in that file, or None."""
    if name == shell.UNKNOWN:
        return "cannot be seen: expected a string, or what snprintf() or mem_printf() has made before"
    optional = re.findall(r"^# optional commands: (.*)", text, flags=re.M)
    if name in " ".join(optional).split():
        looked_for = re.search(r"(command -v \"?|shutil\.which\(\")%s\b" % re.escape(name), text)
        return None if looked_for else f"{name} is optional here, but there is no `command -v {name}`"
    package = OWNER.get(name)
    if not package:
        return f"{name} is in no package of the table in tests/tidy/packages.py: do without, or list its package in bootstrap"
    if package in ALWAYS or package in (tests if path.startswith(TEST_PATHS) else build):
        return None
    return f"{name} is in package {package}, which bootstrap does not list{' for building' if package in tests else ''}"


@functools.lru_cache(maxsize=None)
def complaints(path, text, others, build, tests):
    found = [(path, line, complaint(path, text, name, build, tests)) for line, name in used(path, text, others)]
    return [(path, line, wrong) for path, line, wrong in found if wrong]


def check(tree):
    """(path, line, what is wrong) of each use of a command that may not be there."""
    build, tests = listed(tree.get("bootstrap", ""))
    known = known_to(tree)
    for path, text in tree.items():
        yield from complaints(path, text, known.get(path, ()), build, tests)


# --- whether the table is true ----------------------------------------------------------------------------------------

def query(*arguments):
    done = subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True)
    return done.stdout


def names_in(package):
    """Commands in the package and in those that it depends on, as far as they are installed."""
    depends = query("-W", "-f", "${Pre-Depends}, ${Depends}", package)
    packages = [package, *re.findall(r"(?:^|[,|]) *([a-z0-9.+-]+)", depends)]
    return {path.rpartition("/")[2] for path in query("-L", *packages).split("\n") if re.search(r"/s?bin/", path)}


def untrue():
    """What dpkg says against the table; nothing where there is no dpkg."""
    if not shutil.which("dpkg-query"):
        return
    for package in [*ALWAYS, *INSTALLED]:
        if "installed" not in query("-W", "-f", "${db:Status-Status}", package).split():
            continue
        if package in ALWAYS and query("-W", "-f", "${Essential} ${Priority}", package) not in ("yes required", "no required"):
            yield f"{package} is not in every Debian"
        there = names_in(package)
        for name in {**ALWAYS, **INSTALLED}[package].split():
            pattern = ALTERNATIVES.get(name, re.escape(name))
            if not any(re.fullmatch(pattern, other) for other in there):
                yield f"{name} is not in {package}"
