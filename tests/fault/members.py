#!/usr/bin/env python3
"""Runs whose secondaries are killed, stopped, told to leave, and joined by others, at random times.

usage: members.py WORLDS FOLDER FIRST COUNT

Each run is drawn from a seed, FIRST and those after it: the world, the number of secondaries, the options, and what
happens when. Its hashes, recording, MCAP file and log must be those of a run that nobody disturbs, and no process may be
left. TROUPE says which program is tested. Prints a line for each run that is wrong, and keeps its files in FOLDER.
"""
import filecmp
import os
import random
import signal
import subprocess
import sys
import time

import tapes

TROUPE = os.environ.get('TROUPE', 'troupe')
WORLDS = [('warehouse', 3000), ('large', 2000), ('meeting', 4000), ('crowd', 2000), ('jam', 2000), ('churn', 2000)]
KINDS = ['tape', 'mcap', 'csv']
RUN_S, END_S, LOOK_S = 300, 90, 1


def arguments(worlds, name, steps, files):
    path = os.path.join(worlds, name)
    commands = ['--commands', path + '.commands'] if os.path.exists(path + '.commands') else []
    return ([TROUPE, 'run', path + '.sdf'] + commands + ['--rtf', '0', '--iterations', str(steps), '--hash-every', '20',
            '--record', files + '.tape', '--mcap', files + '.mcap', '--log', files + '.csv'])


def hashes(path):
    with open(path) as lines:
        return [line for line in lines if line.startswith('hash')]


def cmp_bytes(path, other):
    return filecmp.cmp(path, other, False)


def calm_run(worlds, folder, name, steps):
    files = os.path.join(folder, name)
    if not os.path.exists(files + '.out'):
        with open(files + '.out', 'w') as out:
            subprocess.run(arguments(worlds, name, steps, files) + ['--secondaries', '0', '-v', '0'], stdout=out,
                           check=False)
    return files


class Run:
    """A primary, with secondaries that it starts itself, or that join it over the network."""

    def __init__(self, worlds, folder, seed):
        self.dice = random.Random(seed)
        self.name, steps = self.dice.choice(WORLDS)
        self.calm = calm_run(worlds, folder, self.name, steps)
        self.files = os.path.join(folder, str(seed))
        self.port = 20000 + (os.getpid() * 64 + seed) % 12000
        self.joins = self.dice.random() < 0.7
        self.keeps_some = self.dice.random() < 0.8
        self.secondaries, self.happened = [], []
        self.command = arguments(worlds, self.name, steps, self.files) + self.options(seed)
        with open(self.files + '.out', 'w') as out, open(self.files + '.err', 'w') as err:
            self.primary = subprocess.Popen(self.command, stdout=out, stderr=err)

    def options(self, seed):
        dice, count = self.dice, self.dice.randint(1, 4)
        options = ['--on-loss', 'continue', '--network-stale-ms', '400']
        options += ['--window', '1'] if dice.random() < 0.3 else []
        options += ['--chaos', str(seed)] if dice.random() < 0.3 else []
        if not self.joins:
            self.begins_with = 0
            return options + ['--transport', 'tcp', '--secondaries', str(max(count, 2)), '--network-threads', '1']
        self.begins_with = count + dice.randint(0, 2)
        options += ['--network-spares', str(dice.randint(1, 2))] if dice.random() < 0.5 else []
        options += ['--network-max', str(count + dice.randint(0, 2))] if dice.random() < 0.5 else []
        return options + ['--network-role', 'primary', '--network-secondaries', str(count), '--network-listen',
                          '127.0.0.1:%d' % self.port]

    def start(self):
        with open('%s.secondary%d' % (self.files, len(self.secondaries)), 'w') as out:
            self.secondaries.append(subprocess.Popen(
                [TROUPE, 'run', '--network-role', 'secondary', '--network-address', '127.0.0.1:%d' % self.port,
                 '--network-threads', str(self.dice.randint(1, 2))], stdout=out, stderr=subprocess.STDOUT))

    def children(self):
        """Those that the primary started and that have not ended, from /proc."""
        found = []
        for entry in os.listdir('/proc'):
            try:
                with open('/proc/%s/stat' % entry) as stat:
                    fields = stat.read().rsplit(')', 1)[1].split()
                if entry.isdigit() and int(fields[1]) == self.primary.pid and fields[0] not in 'ZX':
                    found.append(int(entry))
            except (OSError, IndexError):
                pass
        return found

    def strike(self):
        """Something happens to one of the secondaries, or another one comes."""
        what = self.dice.choice(['kill', 'kill', 'stop', 'term', 'start', 'start', 'cont'])
        alive = [s.pid for s in self.secondaries if s.poll() is None] if self.joins else self.children()
        if self.joins and (what == 'start' or len(alive) <= (2 if self.keeps_some else 0)):
            if len(alive) < 8:
                self.start()
                self.happened.append('start')
            return
        signals = {'kill': signal.SIGKILL, 'stop': signal.SIGSTOP, 'term': signal.SIGTERM, 'cont': signal.SIGCONT}
        if what == 'start' or len(alive) <= (1 if self.keeps_some else 0):
            return
        try:
            os.kill(self.dice.choice(alive), signals[what])
            self.happened.append(what)
        except OSError:
            pass

    def play(self):
        for _ in range(self.begins_with):
            self.start()
        until = time.monotonic() + RUN_S
        while self.primary.poll() is None and time.monotonic() < until:
            time.sleep(self.dice.expovariate(4) + 0.02)
            if self.primary.poll() is None:
                self.strike()

    def looks_for_a_primary(self, i):
        """Whether it takes no part in the run, so that it does not end with it."""
        with open('%s.secondary%d' % (self.files, i)) as out:
            lines = out.read().splitlines() or ['']
        return 'joined the primary' not in lines[-1] and 'joining it again' not in lines[-1]

    def end(self):
        """The processes that did not end by themselves."""
        left = 0
        if self.primary.poll() is None:
            self.primary.kill()
            self.primary.wait()
            left += 1
        for secondary in self.secondaries:
            if secondary.poll() is None:
                secondary.send_signal(signal.SIGCONT)
        until = time.monotonic() + END_S
        for i, secondary in enumerate(self.secondaries):
            try:
                secondary.wait(timeout=LOOK_S)
            except subprocess.TimeoutExpired:
                if self.looks_for_a_primary(i):
                    secondary.terminate()
            try:
                secondary.wait(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.happened.append('secondary%d-stays' % i)
                secondary.kill()
                secondary.wait()
                left += 1
        return left

    def judge(self):
        """What is wrong, as text."""
        left = self.end()
        mine, calm = hashes(self.files + '.out'), hashes(self.calm + '.out')
        with open(self.files + '.err') as err:
            said = err.read()
        if left:
            return '%d processes did not end' % left
        # processes that the primary started are not replaced
        alone = 'no secondary is left' in said or 'before the run began' in said
        if not self.joins and self.primary.returncode == 3 and alone:
            return '' if mine == calm[:len(mine)] else 'other hashes before the end'
        if self.primary.returncode != 0:
            return 'exit status %d: %s' % (self.primary.returncode, said[-300:])
        if mine != calm:
            return 'other hashes'
        other = [k for k in KINDS if not (tapes.are_same if k == 'tape' else cmp_bytes)('%s.%s' % (self.files, k), '%s.%s' % (self.calm, k))]
        return 'another ' + ', '.join(other) if other else ''


def main():
    worlds, folder, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    os.makedirs(folder, exist_ok=True)
    bad, all_happened = 0, {}
    for seed in range(first, first + count):
        run = Run(worlds, folder, seed)
        run.play()
        wrong = run.judge()
        if wrong:
            bad += 1
            print('seed %d (%s): %s; %s\n  %s' % (seed, run.name, wrong, ' '.join(run.happened), ' '.join(run.command)),
                  flush=True)
        for what in run.happened:
            all_happened[what] = all_happened.get(what, 0) + 1
        for entry in os.listdir(folder):
            if not wrong and entry.startswith('%d.' % seed):
                os.unlink(os.path.join(folder, entry))
    print('%d runs, %d wrong: %s' % (count, bad, ', '.join('%d %s' % (n, w) for w, n in sorted(all_happened.items()))))
    return 1 if bad else 0


sys.exit(main())
