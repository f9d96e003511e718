"""mutation_draws: mutations that are drawn (mutation_rules.py), tried with the tests that execute the changed lines.

Draw number I of seed N is the same whatever else is drawn, as long as the sources stay as they are."""
import collections
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import resource
import time

import mutation_rules
import mutations

# Sources of these modules are drawn this many times as often as their size says: they had the fewest tests.
WEIGHTS = {'scene': 3, 'level': 5, 'sdf': 2, 'system': 3, 'sensor': 3, 'gateway': 1.5, 'assign': 3, 'collide': 2}
NAMED_MAX = 12  # of tests that look at a file: more of them say little
UNNAMED = 3  # of a test that only executes the line, the time counts so many times
NEAR = 30  # lines that a change of a file may have moved others
UNKNOWN_S = 30  # a test that was not measured may take so long
WAIT = 5  # by the clock, a draw may take so many times its limit of processor time
TRIES = 60  # of one draw, until something compiles and makes a difference
# What gives a pointer of another type, or an integer for one, is no mistake that gets as far as a test.
STRICT = 'CFLAGS=-O1 -fvisibility=default -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=return-type'
AS_BUILT = 'CFLAGS=-O2 -w -g0'
EQUAL_LIST = 'tests/mutate.equal'
MODULES_ALONE = ('src/gateway/dds/', 'src/net/mpi/')  # loaded when a run needs them; not in the shared library

COUNTED = ('noticed', 'NOT NOTICED', 'not decided')  # equal ones are no changes
Outcome = collections.namedtuple('Outcome', 'what by')


def cpu_s():
    """Of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bits_of(lines):
    return sum(1 << line for line in lines)


def module_of(file):
    return file.split('/')[1]


def is_of(file, modules):
    """Whether it is one of these files, or in one of these folders, of src."""
    return not modules or any(file == f'src/{name}' or file.startswith(f'src/{name}/') for name in modules)


def load_map_of_names(source):
    """tests/map, which is a program."""
    path = os.path.join(source, 'tests', 'map')
    loader = importlib.machinery.SourceFileLoader('map_of_names', path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('map_of_names', loader))
    loader.exec_module(module)
    return module


class Cover:
    """Which tests execute a line: as tests/coverage has found or, without that, which tests look at the source."""

    def __init__(self, source, path):
        self.seconds, self.by_line, self.digests, self.counted = {}, {}, {}, {}
        self.source, self.by_name = source, None
        if path and os.path.exists(path):
            with open(path, encoding='ascii') as file:
                found = json.load(file)
            self.seconds, self.by_line, self.digests = found['tests'], found['lines'], found['digests']
            self.counted = found['counted']

    def seconds_of(self, test):
        usual = UNKNOWN_S if test.endswith(('.sh', '.py')) else UNKNOWN_S / 6
        return self.seconds.get(test, usual)

    def named(self, file):
        """The tests that look at a source, as tests/map says."""
        if self.by_name is None:
            names = load_map_of_names(self.source)
            tests, callers = names.find(names.read_tree(names.Path(self.source)))
            self.by_name = {name: set(of_file).union(*(tests[caller] for caller in callers[name]))
                            for name, of_file in tests.items()}
        found = [test for test in self.by_name.get(file, ()) if not test.startswith('tests/fuzz')]
        return sorted(found, key=lambda test: (self.seconds.get(test, UNKNOWN_S), test))

    def tests_of(self, mutation, text):
        """The tests of its lines, those that take the least time first; one that looks at the file may take longer. Of lines
        that are not counted, such as those of a table, the tests of the function. In a file that has changed since lines were
        counted, those of the whole file, those of about the same lines first. Of a file that is executed in processes that
        write no counts (imports of meshes), those that look at it; and so of a line that nothing executed, for which a test may have
        been written since; and of tests that are newer than the counts."""
        file, named = mutation.file, self.named(mutation.file)
        if not self.by_line.get(file):
            return named
        wanted = bits_of(mutation.lines)
        if not wanted & int(self.counted.get(file, '0'), 16):
            wanted = bits_of(mutation.around)
        near = wanted
        if self.digests.get(file) != hashlib.sha256(text.encode()).hexdigest()[:16]:
            near = bits_of(range(max(min(mutation.lines) - NEAR, 0), max(mutation.lines) + NEAR))
            wanted = -1
        bits = {test: int(lines, 16) for test, lines in self.by_line[file].items()}
        found = [test for test in bits if bits[test] & wanted] or [test for test in named if test in self.seconds]
        newer = [test for test in named if test not in self.seconds]
        first = named if len(named) <= NAMED_MAX else ()

        def cost(test):
            return self.seconds_of(test) * (1 if test in first else UNNAMED)
        return sorted(newer + found, key=lambda test: (test in bits and not bits[test] & near, cost(test)))


def headers_of(tree, text):
    """What a source includes of src itself."""
    names = (os.path.join('src', name) for name in re.findall(r'^#include "([^"]+)"', text, re.M))
    return [tree.read(name) for name in names if os.path.exists(os.path.join(tree.source, name))]


def sources_of(tree, modules):
    """[(file, weight)] of what can be drawn."""
    found = []
    for at, _, names in sorted(os.walk(os.path.join(tree.source, 'src'))):
        for name in sorted(names):
            file = os.path.relpath(os.path.join(at, name), tree.source)
            if name.endswith('.c') and file.count('/') > 1 and not file.startswith(MODULES_ALONE) and \
                    is_of(file, modules) and tree.is_built(file):
                size = os.path.getsize(os.path.join(at, name))
                found.append((file, size * (1 if modules else WEIGHTS.get(module_of(file), 1))))
    return found


def read_equal(source):
    """{(file, function, text of the change): reason} of changes that make no difference that anyone could see; a reason is
    the comment above."""
    found, file, reason = {}, '', ''
    with open(os.path.join(source, EQUAL_LIST), encoding='utf-8') as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith('#'):
                reason = line[1:].strip()
            elif line.startswith('\t'):
                found[str(mutations.Mutation(number, file, [], line.rstrip()))] = reason
            elif line.strip():
                file = line.split(':')[0]
    return found


class Sources:
    """A tree of which nothing is built: what could be drawn is only shown."""

    def __init__(self, source):
        self.source = source

    def read(self, name):
        with open(os.path.join(self.source, name), encoding='utf-8') as file:
            return file.read()

    def is_built(self, _):
        return True


def show(source, options):
    """Prints what is drawn first for each number; some of it may not compile, or may make no difference."""
    tree = Sources(source)
    files = sources_of(tree, options.module)
    for number in range(options.first, options.first + options.count):
        mutation, rule = draw_from(tree, files, random.Random(f'{options.seed} {number}'))
        print(f'{number}: {rule}: {mutation.file}:{mutation.lines[0]}: {str(mutation).partition(": ")[2]}')
    return 0


def draw_from(tree, files, chance):
    """(Mutation, rule) of one of [(file, weight)]."""
    names, weights = zip(*files)
    while True:
        file = chance.choices(names, weights)[0]
        text = tree.read(file)
        drawn = mutation_rules.draw(text, headers_of(tree, text), file, chance)
        if drawn:
            return drawn


class Draws:
    def __init__(self, tree, tests, cover, options):
        self.tree, self.tests, self.cover, self.options = tree, tests, cover, options
        self.files = sources_of(tree, options.module)
        self.equal = read_equal(tree.source)
        self.clean = tree.digest()
        self.fine, self.bad = set(), set()  # tests that pass, and that do not, with the sources as they are
        self.first = collections.Counter()  # how often a test has noticed a change of a file: (file, test)

    def changed_object(self, mutation):
        """The digest of the object after the change; None: it does not compile."""
        if self.tree.remake(mutation.file, check=False, flags=STRICT) is None:
            return None
        return self.tree.digest()

    def draw(self, number):
        """(Mutation, rule, what restores the tree), with the change made in the tree; None: nothing was found."""
        chance = random.Random(f'{self.options.seed} {number}')
        for _ in range(TRIES):
            mutation, rule = draw_from(self.tree, self.files, chance)
            if str(mutation) in self.equal:
                continue
            text = self.tree.read(mutation.file)
            kept = self.tree.mutate(mutation.file, mutation.apply(text))
            digest = self.changed_object(mutation)
            if digest and digest != self.clean:
                return mutation, rule, text, kept
            self.tree.restore(mutation.file, kept)
        return None

    def passes_unchanged(self, test, mutation, kept, text):
        """Whether the test passes with the sources as they are. The change is made again afterwards."""
        if test not in self.fine | self.bad:
            self.tree.restore(mutation.file, kept)
            self.tree.remake(mutation.file)
            (self.fine if self.tests.passes(test, self.limit_s(test) * 3) else self.bad).add(test)
            self.tree.mutate(mutation.file, mutation.apply(text))
            self.tree.remake(mutation.file, flags=STRICT)
        return test in self.fine

    def limit_s(self, test):
        return 10 + 2 * WAIT * self.cover.seconds_of(test)

    def notices(self, test, mutation, kept, text):
        if self.tests.passes(test, self.limit_s(test)):
            self.fine.add(test)
            return False
        if not self.passes_unchanged(test, mutation, kept, text):
            return False
        # twice: a test that fails now and then by itself has noticed nothing
        return not self.tests.is_real_time(test) or not self.tests.passes(test, self.limit_s(test))

    def is_equal(self, mutation, kept, text):
        """Whether the object that the build makes is the same; the tree is as it was afterwards."""
        def compiled(content):
            self.tree.mutate(mutation.file, content)
            self.tree.compile(mutation.file, AS_BUILT)
            return self.tree.object_digest(mutation.file)
        if not self.tree.is_core(mutation.file):
            return False
        changed, unchanged = compiled(mutation.apply(text)), compiled(text)
        self.tree.restore(mutation.file, kept)
        return changed == unchanged

    def try_tests(self, mutation, kept, text):
        covering = [test for test in self.cover.tests_of(mutation, text)
                    if test in self.tests.known and re.search(self.options.tests, test)]
        covering.sort(key=lambda test: -self.first[mutation.file, test])  # those of one count stay in their order
        until_cpu, until = cpu_s() + self.options.limit, time.monotonic() + WAIT * self.options.limit
        tried, wanted = 0, [test for test in covering if test not in self.bad]
        named = self.cover.named(mutation.file)
        for test in wanted:
            if self.cover.seconds_of(test) > (WAIT if test in named else 2) * self.options.limit:
                continue
            if cpu_s() > until_cpu or time.monotonic() > until:
                break
            tried += 1
            if self.notices(test, mutation, kept, text):
                self.first[mutation.file, test] += 1
                return Outcome('noticed', test)
        if not covering:
            return Outcome('NOT NOTICED', 'no test executes it')
        whole = tried >= len([test for test in wanted if test not in self.bad])
        return Outcome('NOT NOTICED' if whole else 'not decided', f'{tried} of {len(covering)} tests')

    def one(self, number):
        """Prints a line; (module, what came of it)."""
        began = time.monotonic()
        drawn = self.draw(number)
        if not drawn:
            print(f'{number}: nothing to change was found', flush=True)
            return None
        mutation, rule, text, kept = drawn
        try:
            outcome = self.try_tests(mutation, kept, text)
        finally:
            self.tree.tidy_up()
            self.tree.restore(mutation.file, kept)
        if outcome.what != 'noticed' and self.is_equal(mutation, kept, text):
            outcome = Outcome('equal', 'the same object code')
        place, change = f'{mutation.file}:{mutation.lines[0]}', str(mutation).partition(': ')[2]
        print(f'{number}: {outcome.what} ({outcome.by}, {time.monotonic() - began:.1f} s): {rule}: {place}: {change}',
              flush=True)
        return module_of(mutation.file), outcome.what


def print_totals(counts):
    """Of {module: {what: how many}}; the share noticed of all of them."""
    whole = collections.Counter()
    for module in sorted(counts):
        of_module = counts[module]
        whole.update(of_module)
        print(f'    {module:10} {shares_of(of_module)}')
    drawn = sum(whole[what] for what in COUNTED)
    share = 100 * whole['noticed'] / drawn if drawn else 0
    print(f'    all        {shares_of(whole)}; {share:.1f} % noticed')
    return share


def shares_of(counts):
    drawn = sum(counts[what] for what in COUNTED)
    return f'{counts["noticed"]:4} of {drawn:4} noticed, {counts["not decided"]:4} not decided, {counts["equal"]:4} equal'


def run(tree, tests, source, options):
    """Makes the draws; the exit status."""
    cover = Cover(source, options.map)
    draws = Draws(tree, tests, cover, options)
    if not draws.files:
        print(f'FAILED: no sources of {" ".join(options.module)}: expected a folder or a file of src')
        return 1
    counts = collections.defaultdict(collections.Counter)
    modules = ''.join(f' --module {module}' for module in options.module)
    for number in range(options.first, options.first + options.count):
        found = draws.one(number)
        if found:
            counts[found[0]][found[1]] += 1
        if found and found[1] in COUNTED[1:]:
            print(f'    again: tests/mutate --seed {options.seed} --first {number} --count 1{modules}', flush=True)
    if draws.bad:
        print(f'    not used, they fail with the sources as they are: {" ".join(sorted(draws.bad))}')
    share = print_totals(counts)
    failed = int(share < options.least)
    print(f'{1 - failed} passed, {failed} failed')
    return failed
