#!/usr/bin/env python3
"""Networked runs whose primary is killed, or hangs for a while, and whose standby takes its place; several times in a run.

usage: primaries.py WORLDS FOLDER FIRST COUNT

Each run is drawn from a seed, FIRST and those after it: the world, the number of secondaries, the options, what is lost
with the primary, and when. Each hash that any primary prints must be that of a run that nobody disturbs, each step must be
there, the last one too, and no process may be left. TROUPE says which program is tested. Prints a line for each run that
is wrong, and keeps its files in FOLDER.
"""
import os
import random
import signal
import subprocess
import sys
import time

TROUPE = os.environ.get('TROUPE', 'troupe')
WORLDS = [('warehouse', 3000), ('large', 4000), ('meeting', 6000), ('crowd', 3000), ('jam', 3000), ('churn', 3000)]
EVERY, EVENT_S, END_S = 20, 90, 120
UNWRITTEN = 20  # lines that may be lost with a primary


def arguments(worlds, name, steps):
    path = os.path.join(worlds, name)
    commands = ['--commands', path + '.commands'] if os.path.exists(path + '.commands') else []
    return [path + '.sdf'] + commands + ['--iterations', str(steps)]


def hashes(path):
    with open(path) as lines:
        return dict(line.split()[1:3] for line in lines if line.startswith('hash') and line.endswith('\n') and
                    len(line.split()) == 3 and len(line.split()[2]) == 16)


class Run:
    def __init__(self, worlds, folder, seed):
        self.dice, self.seed = random.Random(seed), seed
        self.name, steps = self.dice.choice(WORLDS)
        self.calm = os.path.join(folder, self.name + '.out')
        self.run = arguments(worlds, self.name, steps)
        self.hash_every = ['--hash-every', str(EVERY)]
        if not os.path.exists(self.calm):
            with open(self.calm, 'w') as out:
                subprocess.run([TROUPE, 'run'] + self.run + self.hash_every + ['--rtf', '0', '--secondaries', '0', '-v', '0'],
                               stdout=out, check=False)
        self.files = os.path.join(folder, str(seed))
        self.port = 20000 + (os.getpid() * 64 + 4 * seed) % 12000
        self.ports = [self.port, self.port + 1]
        self.started, self.happened = [], []  # [(name, process)]
        self.goes_on = self.dice.random() < 0.7
        self.count = self.dice.randint(1, 4)

    def start(self, name, options):
        with open('%s.%s.out' % (self.files, name), 'w') as out, open('%s.%s.err' % (self.files, name), 'w') as err:
            process = subprocess.Popen([TROUPE, 'run'] + options, stdout=out, stderr=err)
        self.started.append((name, process))
        return process

    def said(self, name):
        with open('%s.%s.err' % (self.files, name)) as err:
            return err.read()

    def await_word(self, name, process, word):
        until = time.monotonic() + EVENT_S
        while word not in self.said(name) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        return word in self.said(name)

    def options(self):
        dice = self.dice
        options = ['--on-loss', 'continue'] if self.goes_on else []
        options += ['--window', '1'] if dice.random() < 0.3 else []
        options += ['--chaos', str(self.seed)] if dice.random() < 0.3 else []
        return options + self.hash_every

    def begin(self):
        # slow enough for several losses
        pace = ['--rtf', str(self.dice.choice([1, 2, 3]))]
        primary = self.start('p0', self.run + pace + self.options() + [
            '--network-role', 'primary', '--network-secondaries', str(self.count), '--network-stale-ms', '1500',
            '--network-listen', '127.0.0.1:%d' % self.port])
        for i in range(self.count):
            self.start('s%d' % i, ['--network-role', 'secondary', '--network-address', '127.0.0.1:%d' % self.port,
                                   '--network-threads', '1'])
        return primary

    def standby(self, term):
        """Follows the primary of the term before."""
        name = 'p%d' % term
        process = self.start(name, self.options() + [
            '--network-role', 'standby', '--network-address', '127.0.0.1:%d' % self.ports[(term - 1) % 2],
            '--network-listen', '127.0.0.1:%d' % self.ports[term % 2], '--network-stale-ms', '1500', '--network-wait', '12'])
        return name, process

    def secondaries(self):
        return [p for name, p in self.started if name[0] == 's' and p.poll() is None]

    def lose_some(self):
        """Secondaries that are lost in the same moment; a majority of the standby and those that were there is left."""
        alive = self.secondaries()
        may = (len(alive) - (len(alive) + 1) // 2) if self.goes_on else 0
        for process in self.dice.sample(alive, self.dice.randint(0, may)):
            process.send_signal(signal.SIGKILL)
            self.happened.append('secondary-killed')

    def play(self):
        """The last primary, which ends well; None: the run may end early."""
        primary, name = self.begin(), 'p0'
        for term in range(1, self.dice.randint(2, 4)):
            standby_name, standby = self.standby(term)
            if not self.await_word(standby_name, standby, 'follows the primary') or primary.poll() is not None:
                standby.send_signal(signal.SIGCONT)
                break
            time.sleep(self.dice.expovariate(5) + 0.05)
            if self.dice.random() < 0.2:  # another one follows in its place
                standby.send_signal(signal.SIGKILL)
                standby.wait()
                self.happened.append('standby-killed')
                if not self.await_word(name, primary, 'is lost'):
                    break
                time.sleep(0.1)
                standby_name, standby = self.standby_again(term)
                if not self.await_word(standby_name, standby, 'follows the primary'):
                    break
                time.sleep(self.dice.expovariate(5) + 0.05)
            if primary.poll() is not None:
                break
            hangs = self.dice.random() < 0.3
            primary.send_signal(signal.SIGSTOP if hangs else signal.SIGKILL)
            self.happened.append('primary-hangs' if hangs else 'primary-killed')
            self.lose_some()
            took_over = self.await_word(standby_name, standby, 'this standby takes over')
            if hangs:
                time.sleep(self.dice.random())
                primary.send_signal(signal.SIGCONT)
            if not took_over:  # it was there again before most had lost it: the others may end the run
                return None if hangs else standby
            primary, name = standby, standby_name
        return primary

    def standby_again(self, term):
        os.rename('%s.p%d.err' % (self.files, term), '%s.p%d.old.err' % (self.files, term))
        os.rename('%s.p%d.out' % (self.files, term), '%s.p%d.old.out' % (self.files, term))
        return self.standby(term)

    def end(self):
        until = time.monotonic() + END_S
        left = []
        for name, process in self.started:
            try:
                process.wait(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                left.append(name)
                process.kill()
                process.wait()
        return left

    def judge(self, last):
        left = self.end()
        if left:
            return '%s did not end' % ' '.join(left)
        if last and last.returncode != 0:
            return 'exit status %d of the last primary' % last.returncode
        calm, mine = hashes(self.calm), {}
        for entry in os.listdir(os.path.dirname(self.files)):
            if entry.startswith('%d.p' % self.seed) and entry.endswith('.out'):
                found = hashes(os.path.join(os.path.dirname(self.files), entry))
                other = [step for step in found if calm.get(step) != found[step]]
                if other:
                    return '%s has another hash of step %s' % (entry, other[0])
                mine.update(found)
        if not last:
            return ''
        # what a primary printed last was not written when it was killed; the standby prints up to a second of it again
        missing = [step for step in calm if step not in mine]
        lost = len(missing) > UNWRITTEN * len(self.happened) or (missing and int(missing[-1]) == max(map(int, calm)))
        return 'no hash of %d steps, such as %s' % (len(missing), missing[0]) if lost else ''


def main():
    worlds, folder, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    os.makedirs(folder, exist_ok=True)
    bad, all_happened = 0, {}
    for seed in range(first, first + count):
        run = Run(worlds, folder, seed)
        wrong = run.judge(run.play())
        if wrong:
            bad += 1
            print('seed %d (%s, %d secondaries): %s; %s' % (seed, run.name, run.count, wrong, ' '.join(run.happened)), flush=True)
        for what in run.happened:
            all_happened[what] = all_happened.get(what, 0) + 1
        for entry in os.listdir(folder):
            if not wrong and entry.startswith('%d.' % seed):
                os.unlink(os.path.join(folder, entry))
    print('%d runs, %d wrong: %s' % (count, bad, ', '.join('%d %s' % (n, w) for w, n in sorted(all_happened.items()))))
    return 1 if bad else 0


sys.exit(main())
