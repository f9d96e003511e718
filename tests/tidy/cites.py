"""What comments and documents cite must be there: files, sections of pages, functions; and nothing outside of the tree.

A file is cited by its path: from the top of the tree, from src, include or tests, or from the folder of the file that cites
it; by its name alone where it ends as a source does. A section is cited behind the page that has it: `PAGE, "Section"`,
`[Title](PAGE), section "Section"`, or `see "Section"` within a page. A function is cited as name(), and is there if code of the
tree has the name; ALLOWED has functions of libraries that only comments name."""
import fnmatch
import functools
import os
import re

# functions of others that are named and not called: prefixes of libraries, and names
PREFIXES = ("dWorld", "dJoint", "dBody", "dSpace", "dGeom", "dx", "rtc", "xml", "zmq_", "pthread_", "dds_", "MPI_", "SSL_", "ZSTD_", "png_", "jpeg_", "qh_",
            "ai", "Sleef_", "urcu_", "rcu_", "PMIx_", "protobuf_c_", "json_")
ALLOWED = set()
# words of other files, which only exist in a build or on another machine
MADE = ("config.h", "page_files.inc", "names.h", "layout.c")
# what the tree has beside texts: pictures and the like, by their paths
BINARY = set()
TOP = ("src", "include", "tests", "bench", "worlds")
ENDS = r"(?:c|h|inc|def|md|sh|py|proto|js|cc|cpp|sdf|commands|am|supp|list|png|(?<=[a-z]\.)[157])"

C_LIKE = (".c", ".h", ".inc", ".def", ".proto", ".cc", ".cpp", ".idl")
PAGES = (".md", "README")
MANUAL = re.compile(r"\.[1-9]$")
OUTSIDE = re.compile(r"\bDESIGN\b|(?<![\w/])spec/[0-9]|(?<![\w/])shared/|corpus/README|\bissues? #?[0-9]+\b")


def blank(text):
    """Only its lines count."""
    return "\n" * text.count("\n") + " "


def divide(text, pattern, kept):
    """The matches that `kept` takes (a match, and whether it begins a line), and all else, each on the lines of the text."""
    inside, outside, end = [], [], 0
    for match in pattern.finditer(text):
        between, found = text[end:match.start()], match.group()
        end = match.end()
        spoken = kept(found, not between or between.endswith("\n"))
        inside += [blank(between), found if spoken else blank(found)]
        outside += [between, blank(found) if spoken else found]
    rest = text[end:]
    return "".join(inside) + blank(rest), "".join(outside) + rest


TOKENS_OF_C = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*", re.S)
TOKENS_OF_JS = re.compile(r"^[ \t]*//[^\n]*|/\*.*?\*/", re.S | re.M)
TOKENS_OF_SCRIPT = re.compile(r"^[ \t]*#[^\n]*", re.M)
TOKENS_OF_PYTHON = re.compile(r"^[ \t]*(?:\"\"\"(?:\\.|[^\\])*?\"\"\")|\"\"\"(?:\\.|[^\\])*?\"\"\"|'\'\'(?:\\.|[^\\])*?\'\'\'|"
                              r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*", re.S | re.M)
TOKENS_OF_XML = re.compile(r"<!--.*?-->", re.S)
# where a comment begins to speak, and the signs at the beginning of its lines
SIGNS = re.compile(r"^[ \t]*(?:/?\*+|//|#+)", re.M)


@functools.lru_cache(maxsize=None)
def prose_and_code(path, text):
    """What people read of a file, and the rest, each on the lines of the file."""
    if path.startswith(("tests/data/", "tests/web/studio/", "tests/web/package")):
        return "", text
    if path.endswith(PAGES):
        return text, ""
    if MANUAL.search(path):
        return re.sub(r"\\f.|\\&|\\c|^\.\w+ ", "", text.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"'), flags=re.M), ""
    if path.endswith(C_LIKE):
        inside, outside = divide(text, TOKENS_OF_C, lambda token, begins: token.startswith("/"))
    elif path.endswith(".js"):
        inside, outside = divide(text, TOKENS_OF_JS, lambda token, begins: True)
    elif path.endswith((".sdf", ".html", ".urdf")):
        inside, outside = divide(text, TOKENS_OF_XML, lambda token, begins: True)
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python"):
        inside, outside = divide(text, TOKENS_OF_PYTHON, lambda token, begins: token[0] == "#" or begins and token.lstrip().startswith('"""'))
    elif path.endswith((".sh", ".am", ".list", ".supp", ".ac")) or text.startswith("#!"):
        inside, outside = divide(text, TOKENS_OF_SCRIPT, lambda token, begins: True)
    else:
        return "", text
    return SIGNS.sub("", inside), outside


def prose(path, text):
    return prose_and_code(path, text)[0]


def line_of(text, at):
    return text.count("\n", 0, at) + 1


PATH = re.compile(r"(?<![\w/.$:<>\"{}*=@~%-])((?:\.\./)*(?:[\w-][\w.-]*/)+[\w.*-]*[\w*]|[\w-]{2,}\.(?:c|h|md|proto|inc))(?![\w/(:-]|\.\w)")


@functools.lru_cache(maxsize=None)
def paths_of(path, text):
    """(line, cited path) of a file, without those that a block of the page makes."""
    made = set(re.findall(r"<!-- file: (\S+) -->", text)) if path.endswith(".md") else set()
    words = prose(path, text)
    return tuple((line_of(words, match.start()), match.group(1)) for match in PATH.finditer(words) if match.group(1) not in made)


@functools.lru_cache(maxsize=2)
def ways_to(files):
    """Each file and folder by all that its path ends with, also without the end of its name."""
    ways = set()
    for name in files:
        parts = name.split("/")
        for count in range(1, len(parts) + 1):
            for begin in range(count):
                ways.add("/".join(parts[begin:count]))
        stem = re.split(r"[._]", parts[-1])[0]
        for begin in range(len(parts) - 1):
            ways.add("/".join(parts[begin:-1] + [parts[-1].rpartition(".")[0]]))
            ways.add("/".join(parts[begin:-1] + [stem]))  # src/run/edit.c, edit_save.c: src/run/edit
    return ways, {}


@functools.lru_cache(maxsize=None)
def programs_of(text):
    return frozenset(re.findall(r"(?<![\w./-])(?:src|tests|bench)/[\w/.-]+\w", text))


def check_paths(tree):
    files = frozenset(tree).union(BINARY, *(programs_of(text) for name, text in tree.items() if name.endswith(".am")))
    ways, known = ways_to(files)
    for path, text in tree.items():
        here = os.path.dirname(path)
        for line, cited in paths_of(path, text):
            key = (here, path.endswith(".md"), cited)
            if key not in known:
                known[key] = is_there(cited, here, path.endswith(".md"), files, ways)
            if not known[key]:
                yield path, line, "%s is no file of this tree" % cited


def is_there(cited, here, is_page, files, ways):
    cited = re.sub(r"^PREFIX/share/doc/troupe/", "src/doc/", cited)  # where make install puts the pages
    if "/" in cited and cited.partition("/")[0] not in TOP + ("..",) and not re.search(r"\.%s$" % ENDS, cited):
        return True  # words such as and/or, and topics
    if os.path.basename(cited) in MADE or re.search(r"(^|/)(NAME|FILE|WORLD|TEST|PAGE|DIR|FOLDER)(\.|/|$)", cited):
        return True
    if cited.startswith("../"):
        below = cited.lstrip("./")
        place = os.path.normpath(os.path.join(here, cited))
        # a page may have commands for a build folder
        return place in ways and not place.startswith("..") or is_page and below in ways
    if "*" in cited:
        return bool(fnmatch.filter(files, cited) or fnmatch.filter(files, "*/" + cited) or fnmatch.filter(files, cited + "/*"))
    return cited in ways or cited + ".in" in files


SECTION = re.compile(r"(?:\]\(([\w./-]+\.md)\),?\s+section\s+\"([^\"]+)\"|(?<![\w./-])([\w./-]+\.md|README),?\s+\(?\"([^\"]+)\"|\b[Ss]ee\s+\"([^\"]+)\")")


@functools.lru_cache(maxsize=None)
def sections_cited(path, text):
    words = re.sub(r"```.*?```", lambda match: blank(match.group()), prose(path, text), flags=re.S)
    found = []
    for match in SECTION.finditer(words):
        page = match.group(1) or match.group(3)
        section = " ".join((match.group(2) or match.group(4) or match.group(5)).split())
        if page or path.endswith(".md"):
            found.append((line_of(words, match.start()), page, section))
    return tuple(found)


@functools.lru_cache(maxsize=None)
def sections_of(text):
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return frozenset(re.findall(r"^#+ +(.*)$", text, flags=re.M) + re.findall(r"^(\S.*)\n[=-]{3,}$", text, flags=re.M))


# a manual page, and perhaps its section in capitals
MANUALS = re.compile(r"\bman (troupe[a-z-]*)`?(?:,\s+([A-Z][A-Z ]*[A-Z])\b)?|(?<![\w-])(troupe-[a-z]+)\([1-9]\)(?:,\s+([A-Z][A-Z ]+[A-Z])\b)?")


@functools.lru_cache(maxsize=None)
def manuals_cited(path, text):
    words = prose(path, text)
    return tuple((line_of(words, match.start()), match.group(1) or match.group(3), " ".join((match.group(2) or match.group(4) or "").split()))
                 for match in MANUALS.finditer(words))


def check_manuals(tree):
    pages = {re.sub(r"\.[1-9]$", "", os.path.basename(name)): text.replace("\\-", "-") for name, text in tree.items() if name.startswith("src/doc/man/troupe")}
    for path, text in tree.items():
        for line, page, section in manuals_cited(path, text):
            if page not in pages:
                yield path, line, "there is no manual page %s" % page
            elif section and not re.search(r"^\.S[HS] \"?%s\"?$" % re.escape(section), pages[page], flags=re.M):
                yield path, line, "the manual page %s has no section %s" % (page, section)


def check_sections(tree):
    yield from check_manuals(tree)
    for path, text in tree.items():
        for line, page, section in sections_cited(path, text):
            place = path
            if page:
                nearby = os.path.normpath(os.path.join(os.path.dirname(path), page))
                place = next((name for name in (page, nearby) if name in tree), None)
            if place and section not in sections_of(tree[place]):
                yield path, line, "%s has no section \"%s\"" % (place, section)


FUNCTION = re.compile(r"(?<![\w.:>/$-])(?:\w+\.)?([A-Za-z]\w{2,})\(\)")


@functools.lru_cache(maxsize=None)
def functions_cited(path, text):
    words = prose(path, text)
    if path.endswith(".md"):  # programs of the page itself
        words = re.sub(r"```.*?```", lambda match: blank(match.group()), words, flags=re.S)
    return tuple((line_of(words, match.start()), match.group(1)) for match in FUNCTION.finditer(words))


CALLABLE = re.compile(r"([A-Za-z_]\w*)[ \t]*\(|\(\*[ \t]*([A-Za-z_]\w*)\)|\bdef ([A-Za-z_]\w*)")


@functools.lru_cache(maxsize=None)
def callables_of(path, text):
    """The names in its code that are called, declared or defined. Texts count: programs stand in some."""
    return frozenset(name for names in CALLABLE.findall(prose_and_code(path, text)[1]) for name in names if name)


def check_functions(tree):
    names = set().union(*(callables_of(path, text) for path, text in tree.items()))
    for path, text in tree.items():
        for line, name in functions_cited(path, text):
            if name not in names and name not in ALLOWED and not name.startswith(PREFIXES):
                yield path, line, "%s() is no function of this tree" % name


@functools.lru_cache(maxsize=None)
def outside_of(path, text):
    words = prose(path, text)
    return tuple((line_of(words, match.start()), match.group()) for match in OUTSIDE.finditer(words))


def check_outside(tree):
    for path, text in tree.items():
        for line, what in outside_of(path, text):
            yield path, line, "'%s' is a document outside of this tree" % what


CHECKS = (("files", check_paths), ("sections", check_sections), ("functions", check_functions), ("outside", check_outside))
