"""mutation_rules: changes that a person may make by mistake, drawn from the syntax of a C source.

    draw(text, file, chance) -> a Mutation (mutations.py) of the text, and the name of its rule

Only the bodies of functions are changed, and neither directives, asserts, texts, nor what gives memory back (of which the
sanitizers tell). A rule is drawn first, then one of its places. What is drawn may not compile, or may change nothing."""
import collections
import functools
import re

import mutations

Change = collections.namedtuple('Change', 'first end new')  # tokens [first, end) become new

OTHER = {'<': ('<=', '>='), '<=': ('<', '>'), '>': ('>=', '<='), '>=': ('>', '<'), '==': ('!=',), '!=': ('==',),
         '&&': ('||',), '||': ('&&',)}
SIGN = {'+': ('-',), '-': ('+',), '+=': ('-=', '='), '-=': ('+=', '='), '*': ('/',), '/': ('*',), '++': ('--',),
        '--': ('++',), '|=': ('=',), '&=': ('|=',), '%': ('/',), '<<': ('>>',), '>>': ('<<',)}
OPENS, CLOSES = '([{', ')]}'
KEYWORDS = frozenset('if else for while do switch case default return break continue goto sizeof struct union enum static '
                     'const void volatile extern typedef inline register'.split())
# They give something back, or say what is not used.
RELEASE = re.compile(r'(free|vec_free|\w+_(fini|free|destroy|close|unref)|close|fclose|assert|static_assert|va_end)$')
# Of these the two arguments may change places.
SYMMETRIC = re.compile(r'(strn?cmp|memcmp|MIN|MAX|fmin|fmax|vec3_(dot|add)|quat_dot|str_equal)$')
NAME = re.compile(r'[A-Za-z_]\w*$')
AXES = {'x': 'y', 'y': 'z', 'z': 'x'}
ENDS_OPERAND = re.compile(r'[A-Za-z_0-9)\]]|["\']')
CONTEXT = 2  # tokens before and after, so that a line can be read


class Body:
    """The tokens of one function: .name, .words, and for each bracket the place of the other one."""

    def __init__(self, text, name, first, end):
        self.name, self.first = name, first
        self.words = [token.text for token in mutations.tokens_of(text)[first:end]]
        self.directive = mutations.in_directives(text)[first:end]
        self.other, stack = {}, []
        for i, word in enumerate(self.words):
            if word in OPENS:
                stack.append(i)
            elif word in CLOSES and stack:
                begin = stack.pop()
                self.other[begin], self.other[i] = i, begin
        self.begin = next(i for i, word in enumerate(self.words) if word == '{')
        self.in_brackets = {i for begin, end in self.other.items() if self.words[begin] in '([' for i in range(begin, end)}
        self.quiet = self.quiet_places()

    def quiet_places(self):
        """What is not changed."""
        found = {i for i, is_in in enumerate(self.directive) if is_in}
        for i, word in enumerate(self.words):
            if i + 1 < len(self.words) and self.words[i + 1] == '(' and RELEASE.match(word) and i + 1 in self.other:
                found.update(range(i, self.other[i + 1] + 1))
            elif self.words[i:i + 3] == ['(', 'void', ')']:
                found.add(i + 3)
        return found

    def inner(self):
        return [i for i in range(self.begin + 1, len(self.words) - 1) if i not in self.quiet]

    def is_binary(self, i):
        before = self.words[i - 1]
        return bool(ENDS_OPERAND.match(before[-1])) and before not in ('return', 'case', 'else', 'sizeof')

    def is_cast_before(self, i):
        """Whether what stands before is a type in brackets, or a type."""
        if self.words[i - 1] != ')':
            return bool(re.match(r'(struct|const|void|char|bool|double|float|int|size_t|u?int\d+_t|unsigned|long)$',
                                 self.words[i - 1])) or self.words[i - 2] in ('struct', 'const', 'union', 'enum')
        inside = self.words[self.other[i - 1] + 1:i - 1]
        return bool(inside) and (inside[-1] == '*' or inside[0] in ('struct', 'const', 'enum') or
                                 bool(re.match(r'(void|char|bool|double|float|int|size_t|u?int\d+_t|unsigned|long|uintptr_t)$',
                                               inside[-1])))

    def parts(self, begin):
        """The ranges between the commas of the brackets that open at begin."""
        found, at, i = [], begin + 1, begin + 1
        end = self.other[begin]
        while i < end:
            if self.words[i] in OPENS:
                i = self.other[i]
            elif self.words[i] == ',':
                found.append((at, i))
                at = i + 1
            i += 1
        return found + [(at, end)] if at < end else found

    def until(self, i, stops):
        """The first place from i on, in the same brackets, where one of these stands or the brackets end."""
        while i < len(self.words):
            if self.words[i] in stops or self.words[i] in CLOSES:
                return i
            i = self.other.get(i, i) + 1
        return len(self.words) - 1

    def back_until(self, i, stops):
        """One past the last place before i, in the same brackets, where one of these stands or the brackets begin."""
        while i > 0:
            i -= 1
            if self.words[i] in CLOSES and self.words[i] != '}':
                i = self.other.get(i, i)
            elif self.words[i] in stops or self.words[i] in OPENS or self.words[i] == '}':
                return i + 1
        return 0

    def text_of(self, begin, end):
        return ' '.join(self.words[begin:end])


# --- rules: each finds all of its changes in a body -----------------------------------------------------------------------

def comparison(body, _):
    for i in body.inner():
        for new in OTHER.get(body.words[i], ()):
            yield Change(i, i + 1, new)


def sign(body, _):
    for i in body.inner():
        word = body.words[i]
        if word in ('++', '--') or word in SIGN and body.is_binary(i) and not body.is_cast_before(i):
            for new in SIGN[word]:
                yield Change(i, i + 1, new)
        elif word in ('-', '!', '~') and not body.is_binary(i):
            yield Change(i, i + 1, '')


def index(body, _):
    for i in body.inner():
        word = body.words[i]
        if word == '[' and body.other.get(i) and body.is_binary(i) and i + 2 < len(body.words):
            end = body.other[i]
            if end == i + 2 and re.match(r'\d+$', body.words[i + 1]):
                yield Change(i + 1, i + 2, '0' if body.words[i + 1] != '0' else '1')
            elif end > i + 1:
                yield Change(i + 1, end, '0')
        elif word in AXES and body.words[i - 1] in ('.', '->'):
            yield Change(i, i + 1, AXES[word])


def constant(body, _):
    for i in body.inner():
        word = body.words[i]
        if word in ('true', 'false'):
            yield Change(i, i + 1, 'false' if word == 'true' else 'true')
        elif re.match(r'\d+$', word) and body.words[i - 1] != '[':
            yield Change(i, i + 1, str(int(word, 8 if word.startswith('0') else 10) + 1))
            if word not in ('0', '1'):
                yield Change(i, i + 1, str(int(word, 8 if word.startswith('0') else 10) - 1))
        elif re.match(r'\d*\.\d+$', word):
            yield Change(i, i + 1, f'({word} * 2)' if float(word) else '1')


def operand(body, _):
    """One of the two operands of an operator is left out."""
    for i in body.inner():
        word = body.words[i]
        if word in ('&&', '||'):
            stops = ('&&', '||', '?', ':', ',', ';', '=', 'return') if word == '&&' else ('||', '?', ':', ',', ';', '=',
                                                                                          'return')
            yield Change(i, body.until(i + 1, stops), '')
            yield Change(body.back_until(i, stops), i + 1, '')
        elif word in ('+', '-', '*', '/', '%') and body.is_binary(i) and not body.is_cast_before(i):
            low = ('+', '-') if word in '+-' else ('+', '-', '*', '/', '%')
            stops = low + ('<', '>', '<=', '>=', '==', '!=', '&&', '||', '?', ':', ',', ';', '&', '|', '<<', '>>')
            yield Change(i, body.until(i + 1, stops), '')


def arguments(body, _):
    """Two neighbours in a call or in an initializer change places."""
    for i in body.inner():
        before = body.words[i - 1]
        is_call = body.words[i] == '(' and NAME.match(before) and before not in KEYWORDS and not SYMMETRIC.match(before)
        is_list = body.words[i] == '{' and body.words[i - 1] in (')', '=', ',', '{', ']') and i > body.begin
        if (is_call or is_list) and i in body.other and ';' not in body.words[i:body.other[i]]:
            parts = [part for part in body.parts(i) if not any('"' in word for word in body.words[part[0]:part[1]])]
            for (a, b), (c, d) in zip(parts, parts[1:]):
                if body.words[a:b] != body.words[c:d] and b + 1 == c and body.words[a] != '.':
                    yield Change(a, d, f'{body.text_of(c, d)}, {body.text_of(a, b)}')


def statements_of(body):
    """[(first, one past the semicolon)] of plain statements."""
    for i in body.inner():
        if i in body.in_brackets:
            continue
        if body.words[i - 1] in (';', '{', '}', 'else') or body.words[i - 1] == ')' and is_head(body, i - 1):
            if NAME.match(body.words[i]) and body.words[i] not in KEYWORDS or body.words[i] in ('(', '*', '++', '--'):
                end = body.until(i, (';',))
                if body.words[end] == ';' and not is_declaration(body, i, end):
                    yield i, end + 1


def is_head(body, close):
    """Whether the bracket that closes here is that of an if, for or while."""
    return close in body.other and body.words[body.other[close] - 1] in ('if', 'for', 'while')


def is_declaration(body, first, end):
    words = body.words[first:end]
    return len(words) > 1 and bool(NAME.match(words[0])) and (
        bool(NAME.match(words[1])) or words[1] == '*' and len(words) > 2 and bool(NAME.match(words[2])) and
        (len(words) == 3 or words[3] in ('=', ',', '*')))


def statement(body, _):
    """It is left out."""
    for first, end in statements_of(body):
        if body.text_of(first, first + 2) != '( void':
            yield Change(first, end, ';')
    for i in body.inner():
        if body.words[i] in ('break', 'continue', 'return') and body.words[i + 1] == ';':
            yield Change(i, i + 2, ';')
        elif body.words[i] == 'if' and body.words[i + 1] == '(' and body.other.get(i + 1):
            close = body.other[i + 1]
            if body.words[close + 1] in ('return', 'continue', 'break', 'goto'):
                end = body.until(close + 1, (';',)) + 1
                if body.words[end] != 'else':
                    yield Change(i, end, ';')


def early_return(body, source):
    what = source.returned[body.first]
    for first, _ in statements_of(body):
        if body.words[first - 1] in (';', '{', '}') and what is not None:
            yield Change(first, first + 1, f'return {what}; {body.words[first]}')


def branches(body, _):
    for i in body.inner():
        if body.words[i] in ('if', 'while') and body.words[i + 1] == '(' and i + 1 in body.other:
            close = body.other[i + 1]
            yield Change(i + 2, close, f'!({body.text_of(i + 2, close)})')
            if body.words[i] == 'if':
                yield Change(i + 2, close, 'true')
        elif body.words[i] == '?':
            colon = body.until(i + 1, (':',))
            end = body.until(colon + 1, (',', ';', ':'))
            if body.words[colon] == ':':
                yield Change(i + 1, end, f'{body.text_of(colon + 1, end)} : {body.text_of(i + 1, colon)}')
        elif body.words[i] == 'else':
            end = body.other.get(i + 1, 0) + 1 if body.words[i + 1] == '{' else body.until(i + 1, (';',)) + 1
            if body.words[i + 1] not in ('if', 'for', 'while'):
                yield Change(i, end, '')


def variable(body, source):
    """Another variable of the same type, or another member of the same type of the same struct."""
    by_name = {}
    for names in declared_in(body):
        for name in names:
            by_name[name] = [other for other in names if other != name]
    for i in body.inner():
        word, before = body.words[i], body.words[i - 1]
        if before in ('.', '->'):
            for other in source.members.get(word, ()):
                yield Change(i, i + 1, other)
        elif word in by_name and body.words[i + 1] != '(' and not is_declared_at(body, i):
            for other in by_name[word]:
                yield Change(i, i + 1, other)
        elif word in source.enumerators and body.words[i + 1] != ':' and before != 'case':
            for other in source.enumerators[word]:
                yield Change(i, i + 1, other)


def is_declared_at(body, i):
    before = body.words[i - 1]
    return bool(NAME.match(before)) and before not in ('return', 'case', 'else', 'sizeof') or \
        before == '*' and not body.is_binary(i - 1) or before == ',' and body.words[i + 1] in ('=', ';', ',') and \
        is_declaration(body, body.back_until(i, (';',)), i)


RULES = (comparison, sign, index, constant, operand, arguments, statement, early_return, branches, variable)


# --- what a source declares ---------------------------------------------------------------------------------------------

def type_and_names(words):
    """Of a declaration (of a parameter, of variables, of members): its type, without const, and its names."""
    i = 0
    kind = []
    while i < len(words) and (words[i] in ('const', 'static', 'volatile') or words[i] in ('struct', 'enum', 'union')):
        kind += [words[i]] if words[i] in ('struct', 'enum', 'union') else []
        i += 1
        if kind and i < len(words):
            break
    if i >= len(words) or not NAME.match(words[i]) or words[i] in KEYWORDS:
        return None, []
    kind.append(words[i])
    i += 1
    names, stars = [], 0
    found = collections.OrderedDict()
    while i < len(words):
        if words[i] == '*':
            stars += 1
        elif words[i] == 'const':
            pass
        elif NAME.match(words[i]):
            if not NAME.match(words[i - 1]) and words[i - 1] not in ('*', ',') and words[i - 1] != kind[-1]:
                return None, []
            rank = 0
            found[words[i]] = stars
            names.append(words[i])
            depth = 0
            i += 1
            while i < len(words) and (depth or words[i] != ','):
                if words[i] == '[' and not depth:
                    rank += 1
                depth += (words[i] in OPENS) - (words[i] in CLOSES)
                i += 1
            found[names[-1]] = (stars, rank)
            stars = 0
        elif words[i] != ',':
            return None, []
        i += 1
    return ' '.join(kind), [(name, found[name]) for name in names]


def grouped(declarations):
    """Names of one type, of [(type, [(name, how)])]."""
    groups = collections.OrderedDict()
    for kind, names in declarations:
        for name, how in names:
            groups.setdefault((kind, how), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def declared_in(body):
    """Parameters and variables of one type each."""
    begin = body.words.index('(')
    found = [type_and_names(body.words[a:b]) for a, b in body.parts(begin)]
    for i in range(body.begin, len(body.words)):
        before = body.words[i - 1]
        if before in (';', '{', '}') or before == '(' and body.words[i - 2] == 'for':
            end = body.until(i, (';',))
            if body.words[end] == ';' and (body.words[i] in ('struct', 'const', 'enum') or is_declaration(body, i, end)):
                found.append(type_and_names(body.words[i:end]))
    return grouped(declaration for declaration in found if declaration[0])


class Source:
    """What the functions of a source have in common."""

    def __init__(self, text, headers):
        self.bodies = [Body(text, *function) for function in mutations.functions_of(text)]
        self.members, self.enumerators = {}, {}
        for part in (text, *headers):
            words = tuple(token.text for token, skip in zip(mutations.tokens_of(part), mutations.in_directives(part))
                          if not skip)
            for groups, into in ((members_of(words), self.members), (enumerators_of(words), self.enumerators)):
                for names in groups:
                    for name in names:
                        into.setdefault(name, [other for other in names if other != name])
        tokens = [token.text for token in mutations.tokens_of(text)]
        self.returned = {body.first: returned_by(tokens, body.first) for body in self.bodies}


def returned_by(tokens, first):
    """What an early return gives back; None: there is no such thing."""
    before = tokens[max(first - 4, 0):first]
    if before[-1:] == ['void']:
        return ''
    if before[-1:] == ['*']:
        return 'NULL'
    if before[-2:-1] == ['struct'] or not before:
        return None
    return '0'


def brackets_after(words, keyword):
    """The words between the braces of each definition that begins with the keyword."""
    for i, word in enumerate(words):
        if word == keyword:
            begin = i + 1 + (i + 1 < len(words) and bool(NAME.match(words[i + 1])))
            if begin < len(words) and words[begin] == '{':
                depth, end = 0, begin
                while end < len(words):
                    depth += (words[end] == '{') - (words[end] == '}')
                    if not depth:
                        break
                    end += 1
                yield words[begin + 1:end]


@functools.lru_cache(maxsize=None)
def members_of(words):
    found = []
    for inside in brackets_after(words, 'struct'):
        if '{' in inside:
            continue
        declarations, at = [], 0
        for i, word in enumerate(inside):
            if word == ';':
                declarations.append(type_and_names(inside[at:i]))
                at = i + 1
        found += grouped(declaration for declaration in declarations if declaration[0])
    return found


@functools.lru_cache(maxsize=None)
def enumerators_of(words):
    found = []
    for inside in brackets_after(words, 'enum'):
        names = [word for i, word in enumerate(inside) if NAME.match(word) and (not i or inside[i - 1] == ',')]
        if '=' not in inside:
            # the neighbours: a wrong one is mostly one beside it
            found += [list(pair) for pair in zip(names, names[1:])]
    return found


# --- drawing --------------------------------------------------------------------------------------------------------------

def line_of(text, body, change):
    """What mutations.py reads, with some tokens before and after."""
    words = body.words
    first, end = max(change.first - CONTEXT, 0), min(change.end + CONTEXT, len(words))
    while any(body.directive[i] for i in range(first, change.first)):
        first += 1
    while any(body.directive[i] for i in range(change.end, end)):
        end -= 1
    old = ' '.join(words[first:end])
    new = ' '.join((*words[first:change.first], change.new, *words[change.end:end])).replace('  ', ' ')
    places = mutations.places_of(text, body.name, words[first:end])
    place = f' #{places.index(body.first + first) + 1}' if len(places) > 1 else ''
    return f'{body.name}: {old}{place} {mutations.BECOMES} {new}'.rstrip()


def draw(text, headers, file, chance):
    """A Mutation, and the rule's name; None: there is nothing to change. headers: texts of what it includes."""
    source = Source(text, headers)
    by_rule = {rule: [(body, change) for body in source.bodies for change in rule(body, source)] for rule in RULES}
    rules = [rule for rule in RULES if by_rule[rule]]
    if not rules:
        return None
    rule = chance.choice(rules)
    body, change = chance.choice(by_rule[rule])
    mutation = mutations.Mutation(0, file, [], line_of(text, body, change))
    mutation.lines = lines_of(text, body.first + change.first, body.first + change.end)
    mutation.around = lines_of(text, body.first, body.first + len(body.words))
    return mutation, rule.__name__


def lines_of(text, first, end):
    """Of the tokens [first, end)."""
    tokens = mutations.tokens_of(text)
    return range(text.count('\n', 0, tokens[first].begin) + 1, text.count('\n', 0, tokens[end - 1].end) + 2)
