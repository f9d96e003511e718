#!/usr/bin/env python3
"""mutations: a list of changes to C sources, each given by file, function and tokens, so that a line of the list stays
true when the file is formatted anew, when comments change, and when other functions do.

    mutations.py LIST                    the list: number, file, tests, and the change in short, between tabs
    mutations.py LIST NUMBER FOLDER      the text of the file in FOLDER with that change

A list has lines of two kinds; a line that is empty or begins with # is for the reader:

    src/net/key.c: tests/fault/test_channel tests/unit/test_peers
    <tab>load_key: count - 1 => count
    <tab>load_key: count #2 => 0
    <tab>-: KEY_BYTES => 0

The first kind names a file and the tests that are tried first. Each line below it begins with a tab, and is a change of
this file: the function (- : outside of all functions), what stands there, and what is put there, which may be nothing.
Both are C; blanks between tokens have no meaning. A function begins with its name and ends with its last brace. There is
one such place in the function; #2 means the second of several. The number of a change is that of its line."""
import bisect
import collections
import functools
import os
import re
import sys

TOKEN = re.compile(r"""
    (?P<skip> \s+ | \\\n | /\*.*?\*/ | //[^\n]* )
  | (?P<token> [A-Za-z_]\w* | \.?\d (?: [eEpP][+-] | [\w.] )* | "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )*'
  | \.\.\. | <<= | >>= | => | -> | \+\+ | -- | && | \|\| | \#\# | << | >> | [-+*/%&|^!=<>]= | . )""", re.X | re.S)
BECOMES = "=>"  # no operator of C
OUTSIDE = "-"

Token = collections.namedtuple("Token", "text begin end")


@functools.lru_cache(maxsize=None)
def tokens_of(text):
    return tuple(Token(found.group(), found.start(), found.end()) for found in TOKEN.finditer(text) if found["token"])


def in_directives(text):
    """For each token, whether it is part of a directive of the preprocessor."""
    ends, is_in, until = [], [], -1
    for token in tokens_of(text):
        if token.begin > until and token.text == "#":
            until = token.begin
            for line in re.compile(r"(?:/\*.*?\*/|\\\n|[^\n])*", re.S).finditer(text, token.begin):
                until = line.end()
                break
        is_in.append(token.begin < until)
    return is_in


@functools.lru_cache(maxsize=None)
def functions_of(text):
    """[(name, first token, one past the last token)] of each function's definition, in their order."""
    tokens, is_in = tokens_of(text), in_directives(text)
    at = [i for i, directive in enumerate(is_in) if not directive]
    found, depth, name = [], 0, None
    for k, i in enumerate(at):
        if tokens[i].text == "{":
            if depth == 0:
                name = declared_before(tokens, at, k)
            depth += 1
        elif tokens[i].text == "}":
            depth -= 1
            if depth == 0 and name is not None:
                found.append((tokens[name].text, name, i + 1))
                name = None
    return tuple(found)


def declared_before(tokens, at, k):
    """The token that names the function of which the body begins at tokens[at[k]]; None: this is no function's body."""
    if k == 0 or tokens[at[k - 1]].text != ")":
        return None
    depth = 0
    for j in range(k - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(tokens[at[j]].text, 0)
        if depth == 0:
            return at[j - 1] if re.match(r"[A-Za-z_]", tokens[at[j - 1]].text) else None
    return None


def ranges_of(text, function):
    """Ranges of tokens that belong to the function."""
    functions = functions_of(text)
    if function != OUTSIDE:
        return [(first, end) for name, first, end in functions if name == function]
    edges = [0] + [edge for _, first, end in functions for edge in (first, end)] + [len(tokens_of(text))]
    return list(zip(edges[::2], edges[1::2]))


def places_of(text, function, wanted):
    """The first token of each place in the function where these tokens stand."""
    tokens = [token.text for token in tokens_of(text)]
    wanted = list(wanted)
    return [i for first, end in ranges_of(text, function) for i in range(first, end - len(wanted) + 1)
            if wanted and tokens[i:i + len(wanted)] == wanted]


class Mutation:
    """One change: .number, .file, .tests, .function, .old and .new (C in one line), .place (0: there is one place)."""

    def __init__(self, number, file, tests, line):
        self.number, self.file, self.tests = number, file, tests
        self.function, colon, change = line.strip().partition(": ")
        old, becomes, self.new = (change + " ").partition(f" {BECOMES} ")
        found = re.fullmatch(r"(.*?)(?: #(\d+))?", old)
        self.old, self.place, self.new = found[1].strip(), int(found[2] or 0), self.new.strip()
        if not colon or not becomes or not self.old or not self.file:
            raise ValueError(f"line {number}: expected a FILE: TESTS above and FUNCTION: OLD => NEW: {line.strip()}")

    def __str__(self):
        place = f" #{self.place}" if self.place else ""
        return f"{self.file}: {self.function}: {self.old}{place} {BECOMES} {self.new}".rstrip()

    def apply(self, text):
        """The file's text with this change; ValueError: why it cannot be made."""
        old = [token.text for token in tokens_of(self.old)]
        if self.function != OUTSIDE and not ranges_of(text, self.function):
            raise ValueError(f"{self.file} has no function {self.function}")
        places = places_of(text, self.function, old)
        if len(places) < self.place or len(places) != 1 and not self.place:
            raise ValueError(f"'{self.old}' stands {len(places)} times in {self.function} of {self.file}: expected "
                             + (f"{self.place} or more" if self.place else "once"))
        if old == [token.text for token in tokens_of(self.new)]:
            raise ValueError(f"'{self.old}' becomes what it is")
        first = places[max(self.place, 1) - 1]
        tokens = tokens_of(text)
        begin, end = tokens[first].begin, tokens[first + len(old) - 1].end
        lines = max(text.count("\n", begin, end) - self.new.count("\n"), 0)  # those below keep their numbers
        return text[:begin] + self.new + "\n" * lines + text[end:]


def parse(lines):
    """The mutations of a list, and the ValueErrors of lines that are none: [(number, Mutation or ValueError)]."""
    file, tests = "", []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            if line[0] == "\t":
                yield number, Mutation(number, file, tests, line)
            elif re.fullmatch(r"\S+:( \S+)*", line):
                file, tests = line.split(":")[0], line.split(":")[1].split()
            else:
                raise ValueError(f"line {number}: expected FILE: TESTS: {line}")
        except ValueError as error:
            yield number, error


def read(path):
    """The mutations of the list at path; ValueError: a line is none."""
    with open(path, encoding="utf-8") as file:
        found = [mutation for _, mutation in parse(file.read().splitlines())]
    for mutation in found:
        if isinstance(mutation, ValueError):
            raise mutation
    return found


def main():
    if len(sys.argv) not in (2, 4):
        print(__doc__)
        return 2
    mutations = read(sys.argv[1])
    if len(sys.argv) == 2:
        for mutation in mutations:
            print(mutation.number, mutation.file, " ".join(mutation.tests), mutation, sep="\t")
        return 0
    [mutation] = [mutation for mutation in mutations if mutation.number == int(sys.argv[2])]
    with open(os.path.join(sys.argv[3], mutation.file), encoding="utf-8") as file:
        text = file.read()
    try:
        sys.stdout.write(mutation.apply(text))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
