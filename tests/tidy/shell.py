"""Which commands does a shell script run?

commands(text) reads a script of sh or bash as the shell reads it and returns (line, name) of each command that it runs
by name: in lists, pipelines, substitutions, here-documents, bodies of functions and traps, and those that are given to
another command to be run (timeout 5 NAME, find -exec NAME, sh -c 'NAME ...', a function that runs its arguments).

Only names that stand in the script can be seen. A command that is a path of the tree, or comes from a variable, is left
out, unless the script gives the variable a value that it names. Looking for words that follow a newline or a bar was
tried first: it takes the arms of a case, here-documents and text in quotes for commands, and does not see what timeout
runs.
"""
import ast
import functools
import re
import textwrap
from collections import namedtuple

# text: without quotes, each expansion replaced by UNKNOWN; raw: as it stands there
Word = namedtuple("Word", "text raw")
# function: the one in whose body it stands, or None; here: texts of its here-documents, (line, text)
Command = namedtuple("Command", "line words function here")

UNKNOWN = "\0"
# but not "<(" and ">(", which begin a word
OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|<<<|<<-|<<|>>|&>>|&>|<&|>&|<>|>\||\(\(|[;&|()\n]|[<>](?!\()")
BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
REDIRECTIONS = {"<<<", ">>", "&>>", "&>", "<&", ">&", "<>", ">|", "<", ">"}
# after these a command is expected
BEFORE_COMMAND = {"!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "time", "esac"}
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=")
NAME = re.compile(r"[\w.+-]*\w[\w.+-]*|\[")

BUILTINS = set(""". : [ alias bg bind break builtin caller cd command compgen complete continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd
    pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias
    unset wait""".split())

# What runs another command: its options that take a value, and how many words stand before the command.
WRAPPERS = {"builtin": ("", 0), "chroot": ("", 1), "env": ("u C S", 0), "exec": ("a", 0), "flock": ("w E", 1),
            "ionice": ("c n", 0), "nice": ("n", 0), "nohup": ("", 0), "setarch": ("", 0), "setsid": ("", 0),
            "stdbuf": ("i o e", 0), "sudo": ("u g C D h p r t", 0), "taskset": ("", 1), "timeout": ("k s", 1),
            "unshare": ("S G R w", 0), "xargs": ("a d E I L n P s", 0), "command": ("", 0)}
SHELLS = {"sh", "bash", "dash"}


class Reader:
    """One pass over a text; what is found goes to self.commands, in the order in which it stands there."""

    def __init__(self, text, line=1, function=None, found=None):
        self.text, self.at, self.first_line, self.function = text, 0, line, function
        self.commands = found if found is not None else []
        self.values = {}  # variable: what it is given in words that can be seen
        self.pending = []  # here-documents whose text begins after this line

    # --- words --------------------------------------------------------------------------------------------------------

    def line(self):
        return self.first_line + self.text.count("\n", 0, self.at)

    def peek(self, text):
        return self.text.startswith(text, self.at)

    def nested(self, text, line):
        """A text of its own inside of this one."""
        inner = Reader(text, line, self.function, self.commands)
        inner.values = self.values
        inner.read_list(())

    def substitution(self, end):
        """After "$(" or "<(": to its end."""
        pending, self.pending = self.pending, []
        self.read_list((end,))
        self.pending = pending

    def backquotes(self):
        line, end = self.line(), self.at + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        self.nested(re.sub(r"\\([`$\\])", r"\1", self.text[self.at + 1:end]), line)
        self.at = end + 1

    def skip_to(self, end):
        """To the end of ${...} or $((...)), by way of the substitutions in it."""
        depth, start = 0, {"}": "{", "))": "("}[end]
        while self.at < len(self.text):
            if depth == 0 and self.peek(end):
                self.at += len(end)
                return
            char = self.text[self.at]
            if char == "\\":
                self.at += 2
            elif char in "\"'" and end == "}":
                self.quoted()
            elif char in "$`":
                self.expansion()
            else:
                depth += (char == start) - (char == end[0])
                self.at += 1

    def expansion(self):
        """At a "$" or a backquote. Returns what it stands for in Word.text."""
        if self.peek("`"):
            self.backquotes()
        elif self.peek("$(("):
            self.at += 3
            self.skip_to("))")
        elif self.peek("$("):
            self.at += 2
            self.substitution(")")
        elif self.peek("${"):
            self.at += 2
            self.skip_to("}")
        elif self.peek("$'"):
            self.at += 1
            return self.quoted()
        else:
            match = re.compile(r"\$(\w+|[@*#?$!-])").match(self.text, self.at)
            self.at = match.end() if match else self.at + 1
            return UNKNOWN if match else "$"
        return UNKNOWN

    def quoted(self):
        """At a quote; returns the text in the quotes."""
        quote, out = self.text[self.at], ""
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != quote:
            char = self.text[self.at]
            if char in "$`" and quote == '"':
                out += self.expansion()
            elif char == "\\" and quote == '"':
                out += self.text[self.at + 1:self.at + 2].replace("\n", "")
                self.at += 2
            else:
                out += char
                self.at += 1
        self.at += 1
        return out

    def blanks(self):
        self.at = BLANKS.match(self.text, self.at).end()

    def operator(self):
        """The operator here, or None."""
        match = OPERATOR.match(self.text, self.at)
        return match and match.group()

    def word(self):
        start, out = self.at, ""
        while self.at < len(self.text):
            char = self.text[self.at]
            if self.peek("<(") or self.peek(">("):
                self.at += 2
                self.substitution(")")
                out += UNKNOWN
            elif char in " \t\n;&|()<>":
                break
            elif char in "\"'":
                out += self.quoted()
            elif char in "$`":
                out += self.expansion()
            elif char == "\\":
                out += self.text[self.at + 1:self.at + 2].replace("\n", "")
                self.at += 2
            else:
                out += char
                self.at += 1
        return Word(out, self.text[start:self.at])

    def next_word(self):
        self.blanks()
        return self.word()

    # --- lists of commands --------------------------------------------------------------------------------------------

    def newline(self):
        """At the end of a line: the texts of here-documents follow."""
        self.at += 1
        pending, self.pending = self.pending, []
        for end, is_literal, strip, here in pending:
            line, lines = self.line(), []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                text = self.text[self.at:stop]
                text = text.lstrip("\t") if strip else text
                self.at = stop + 1
                if text == end:
                    break
                lines.append(text)
            body = "\n".join(lines)
            here.append((line, body))
            if not is_literal:
                inner = Reader(body, line, self.function, self.commands)
                while inner.at < len(body):
                    if body[inner.at] in "$`":
                        inner.expansion()
                    else:
                        inner.at += 2 if body[inner.at] == "\\" else 1

    def redirection(self, op, here):
        self.at += len(op)
        word = self.next_word()
        if op in ("<<", "<<-"):
            self.pending.append((word.text, word.raw != word.text, op == "<<-", here))

    def read_list(self, ends):
        """Commands up to one of ends (")" or a reserved word), which is read, too, or to the end of the text."""
        while True:
            self.blanks()
            if self.at >= len(self.text):
                return ""
            op = self.operator()
            if op in ends:
                self.at += len(op)
                return op
            if op == "\n":
                self.newline()
            elif op == "((":
                self.at += 2
                self.skip_to("))")
            elif op == "(":
                self.at += 1
                self.read_list((")",))
            elif op in REDIRECTIONS or op in ("<<", "<<-"):
                self.redirection(op, [])
            elif op:
                self.at += len(op)
            else:
                end = self.read_command(ends)
                if end:
                    return end

    def read_command(self, ends):
        """A simple command, or what a reserved word begins. Returns that one of ends which stands here, or None."""
        line, words, here = self.line(), [], []
        while True:
            self.blanks()
            op = self.operator()
            if op == "(" and words and words[-1].raw.endswith("="):
                self.assignment(words.pop())  # an array, after local
                continue
            if op == "(" and len(words) == 1:
                self.read_function(words[0].text)
                return None
            if self.at >= len(self.text) or (op and op not in REDIRECTIONS and op not in ("<<", "<<-")):
                break
            if op:
                self.redirection(op, here)
                continue
            start = self.at
            word = self.word()
            if self.at == start:  # nothing that a word may begin with
                self.at += 1
            elif re.fullmatch(r"\d+", word.raw) and self.text[self.at:self.at + 1] in ("<", ">"):
                pass
            elif words:
                words.append(word)
            elif word.raw in ends:
                return word.raw
            elif self.reserved(word.raw):
                line = self.line()
            elif ASSIGNMENT.match(word.raw):
                self.assignment(word)
                line = self.line() if not words else line
            else:
                line = self.first_line + self.text.count("\n", 0, start)
                words.append(word)
        if words:
            self.commands.append(Command(line, words, self.function, here))
        return None

    def reserved(self, raw):
        """Whether it is a reserved word; reads what does not look like a command after it."""
        if raw == "{":
            self.read_list(("}",))
        elif raw == "case":
            self.read_case()
        elif raw in ("for", "select"):
            self.next_word()
            self.blanks()
            if self.text[self.at:self.at + 2] == "in":
                while not self.operator() and self.at < len(self.text):
                    self.next_word()
                    self.blanks()
        elif raw == "[[":
            while self.at < len(self.text) and self.next_word().raw != "]]":
                self.blanks()
                op = self.operator()
                self.at += len(op) if op else 0
        elif raw == "function":
            self.blanks()
            self.read_function(self.word().text)
        else:
            return raw in BEFORE_COMMAND
        return True

    def read_case(self):
        self.next_word()
        self.skip_lines()
        self.next_word()  # in
        while self.at < len(self.text):
            self.skip_lines()
            if re.compile(r"esac\b").match(self.text, self.at):
                self.at += 4
                return
            self.at += self.peek("(")
            while self.at < len(self.text) and not self.peek(")"):  # the patterns
                self.blanks()
                start = self.at
                self.word()
                self.at += self.at == start and not self.peek(")")
            self.at += 1
            if self.read_list((";;", ";&", ";;&", "esac")) == "esac":
                return

    def skip_lines(self):
        self.blanks()
        while self.peek("\n"):
            self.newline()
            self.blanks()

    def read_function(self, name):
        """At its brackets, if it has any; its body is what follows."""
        match = re.compile(r"\s*\(\s*\)").match(self.text, self.at)
        self.at = match.end() if match else self.at
        self.commands.append(Command(self.line(), [Word("function", "function"), Word(name, name)], None, []))
        outer, self.function = self.function, name
        self.skip_lines()
        if self.peek("("):
            self.at += 1
            self.read_list((")",))
        else:
            self.read_command(())
        self.function = outer

    def assignment(self, word):
        name = ASSIGNMENT.match(word.raw).group(1)
        values = self.values.setdefault(name, [])
        if word.raw.endswith("=") and self.peek("("):
            self.at += 1
            items = []
            while self.at < len(self.text) and not self.peek(")"):
                start = self.at
                if self.peek("\n"):
                    self.newline()
                items.append(self.next_word())
                self.blanks()
                self.at += self.at == start and not self.peek(")")
            self.at += 1
            values.append([item for item in items if item.raw])
        else:
            values.append([Word(part, part) for part in word.text[word.text.index("=") + 1:].split()])


class Script:
    """What a text runs, when its functions and variables are known."""

    def __init__(self, text, line=1, sourced=()):
        """sourced: texts of scripts that this one reads, whose functions and variables it knows."""
        reader = Reader(text, line)
        reader.read_list(())
        # a closing bracket too many ends the list, not the script
        while reader.at < len(text):
            reader.read_list(())
        self.commands, self.values = reader.commands, reader.values
        known = list(self.commands)
        for other in sourced:
            theirs = parsed(other)
            known += theirs.commands
            for name, values in theirs.values.items():
                self.values.setdefault(name, []).extend(values)
        self.functions = {c.words[1].text for c in known if c.words[0].text == "function" and len(c.words) > 1}
        self.runs = {}  # function: the number of its first argument that it runs as a command
        bodies = {name: [] for name in self.functions}
        for command in known:
            if command.function in bodies:
                bodies[command.function].append(command)
        for _ in range(4):  # each time, functions become known that call functions known before
            before = dict(self.runs)
            for name in self.functions:
                self.find_what_it_runs(name, bodies[name])
            if self.runs == before:
                break

    def find_what_it_runs(self, function, body):
        shifted = 0
        for command in body:
            if command.words[0].text == "shift":
                count = command.words[1].text if len(command.words) > 1 else "1"
                shifted += int(count) if count.isdigit() else 0
            for words, skipped in self.unwrap(command.words):
                raw = words[0].raw.strip('"')
                if raw in ("$@", "$*"):
                    self.runs[function] = shifted + skipped
                elif re.fullmatch(r"\$[1-9]", raw):
                    self.runs[function] = shifted + int(raw[1]) - 1

    def unwrap(self, words):
        """The command, and each that it is given to run: lists of words, which may begin with "$@", and then how many of
        those the command leaves out before it takes one for a command."""
        skipped = 0
        while words:
            yield words, skipped
            name, rest = words[0].text, words[1:]
            if name == "command" and rest and rest[0].text in ("-v", "-V"):
                return
            if name == "ip" and [w.text for w in rest[:2]] == ["netns", "exec"]:
                words = rest[3:]
            elif name == "find":
                for i, word in enumerate(rest):
                    if word.text in ("-exec", "-execdir", "-ok") and i + 1 < len(rest):
                        yield from self.unwrap(rest[i + 1:])
                return
            elif name in WRAPPERS and name not in self.functions:
                words = self.after_options(rest, *WRAPPERS[name])
            elif name in self.runs:
                words, skipped = self.argument(rest, self.runs[name])
            elif re.fullmatch(r'"?\$\{?\w+(\[@\])?\}?"?', words[0].raw):
                # a variable whose values are known; where it may be nothing, the next word is the command
                values = self.values.get(re.search(r"\w+", words[0].raw).group(), [])
                for value in values:
                    if value:
                        yield from self.unwrap(value)
                if [] not in values or words[0].raw.startswith('"') and "[@]" not in words[0].raw:
                    return
                words = rest
            else:
                return

    @staticmethod
    def argument(rest, index):
        """From that argument on; or from a "$@" before it on, and how many of its words come before that argument."""
        for i, word in enumerate(rest[:index]):
            if word.raw.strip('"') in ("$@", "$*"):
                return rest[i:], index - i
        return rest[index:], 0

    @staticmethod
    def after_options(rest, with_value, count):
        while rest and (rest[0].text.startswith("-") or ASSIGNMENT.match(rest[0].text)):
            has_value = rest[0].text[1:] in with_value.split()
            rest = rest[2:] if has_value else rest[1:]
        return rest[count:]

    def found(self):
        for command in self.commands:
            for words, _ in self.unwrap(command.words):
                yield from self.named(command, words)

    def named(self, command, words):
        name = words[0].text
        rest = [w.text for w in words[1:]]
        name = re.sub(r"^/(usr/)?s?bin/", "", name)
        if name == "function" or name in self.functions or not NAME.fullmatch(name):
            return
        if name in ("trap", "eval") and rest:
            yield from self.inner(rest[0] if name == "trap" else " ".join(rest), command.line)
        elif name in SHELLS and "-c" in rest[:-1]:
            yield command.line, name
            yield from self.inner(rest[rest.index("-c") + 1], command.line)
        else:
            yield command.line, name
            for line, text in command.here:
                if name in SHELLS:
                    yield from self.inner(text, line)
                elif name == "python3":
                    yield from python_commands(text, line)

    def inner(self, text, line):
        script = Script(text, line)
        script.functions |= self.functions
        script.runs.update(self.runs)
        yield from script.found()


@functools.lru_cache(maxsize=None)
def parsed(text):
    return Script(text)


def commands(text, sourced=()):
    """(line, name) of each command that the script runs, but for builtins and functions. sourced: texts that it reads."""
    return [(line, name) for line, name in Script(text, 1, sourced).found() if name not in BUILTINS]


def recipes(text):
    """The same of a makefile's recipes."""
    lines, in_recipe, continues = [], False, False
    for line in text.split("\n"):
        in_recipe = in_recipe if continues else line.startswith("\t")
        # what make expands cannot be seen
        shell = re.sub(r"\$\(\w+\)|\$\{\w+\}|\$[@<^*?]", "${x}", line).replace("$$", "$")
        lines.append(shell if in_recipe and continues else re.sub(r"^\t(\$\{x\})?[@+-]*", "", shell) if in_recipe else "")
        continues = line.endswith("\\")
    return commands("\n".join(lines))


def python_commands(text, first_line=1):
    """The same of a Python text: what it gives to subprocess and os.system as a text."""
    for node in ast.walk(ast.parse(textwrap.dedent(text))):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.func, ast.Attribute):
            continue
        line, given = first_line + node.lineno - 1, node.args[0]
        owner = getattr(node.func.value, "id", "")
        if isinstance(given, ast.List) and given.elts and owner == "subprocess":
            given = given.elts[0]
        elif (owner, node.func.attr) != ("os", "system"):
            continue
        parts = given.values if isinstance(given, ast.JoinedStr) else [given]
        shell = "".join(str(part.value) if isinstance(part, ast.Constant) else UNKNOWN for part in parts)
        for _, name in commands(shell):
            yield line, name


def c_commands(text):
    """The same of a C text: what system() and popen() are given, which must be a string or what snprintf() or
    mem_printf() has made just before; UNKNOWN if it is neither."""
    for match in re.finditer(r"\b(?:system|popen)\s*\(\s*(\"(?:\\.|[^\"\\])*\"|[^\s,);]+)", text):
        line, given = text.count("\n", 0, match.start()) + 1, match.group(1)
        if not given.startswith('"'):
            filled = re.findall(r"(?:\bsnprintf\s*\(\s*%s\s*,[^\"]*|\b%s\s*=\s*mem_printf\s*\(\s*)\"((?:\\.|[^\"\\])*)\"" %
                                (re.escape(given), re.escape(given)), text[:match.start()])
            given = '"%s"' % filled[-1] if filled else None
        found = commands(given[1:-1].replace('\\"', '"')) if given else []
        for _, name in found or [(0, UNKNOWN)]:
            yield line, name
