# SPDX-License-Identifier: Apache-2.0
"""The mutants of a C file: small changes of its text, each of which some test should notice.

The file is read as tokens, not parsed: what follows relies on the layout clang-format gives it (a
binary operator has blanks around it, a unary one has none behind it). A change that is no C is
found by the compiler and costs one compilation.
"""
import hashlib
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:[uUL])?'(?:\\.|[^'\\\n])+')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<punct><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

RELATIONAL = {
    "<": ("<=", ">=", "!="),
    "<=": ("<", ">", "=="),
    ">": (">=", "<=", "!="),
    ">=": (">", "<", "=="),
    "==": ("!=", "<=", ">="),
    "!=": ("==", "<", ">"),
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"}
BITWISE = {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"}
LOGICAL = {"&&": "||", "||": "&&"}
ASSIGNMENT = {
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "*=",
    "&=": "|=", "|=": "&=", "^=": "&=", "<<=": ">>=", ">>=": "<<=",
}  # fmt: skip
STEP = {"++": "--", "--": "++"}
CLOSE = {"(": ")", "[": "]", "{": "}"}
# A statement that begins with one of these is no assignment or call.
NO_EXPRESSION = set(
    "return if else for while do switch case default break continue goto struct union enum const "
    "static unsigned signed int char long short void bool volatile register _Static_assert "
    "__asm__ asm AUTO_FREE AUTO_FD CLEANUP".split()
)
# Nothing in the parentheses behind these is a decision of the program.
OPAQUE = {"_Static_assert", "__attribute__", "__asm__", "asm", "sizeof", "CLEANUP"}
ATOM_ENDS = {"&&", "||", "?", ":", ",", ";", "{", "}", "return"} | set(ASSIGNMENT) | {"="}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mutant:
    """One change: text[start:end] becomes `after`."""

    id: str
    file: str
    line: int
    column: int
    where: str  # function, or variable, with #n for the nth equal line in it
    operator: str
    start: int
    end: int
    before: str
    after: str
    text: str  # the line it begins in, blanks collapsed


def tokens_of(text):
    """The tokens that can matter: no blanks, comments or directives."""
    found = []
    for match in TOKEN.finditer(text):
        if match.lastgroup not in ("blank", "directive"):
            found.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
    return found


def pairs_of(tokens):
    """{index of an opening bracket: index of its closing one} and the other way round."""
    pairs, stack = {}, []
    for i, token in enumerate(tokens):
        if token.text in CLOSE:
            stack.append(i)
        elif token.text in CLOSE.values() and stack:
            pairs[i] = stack.pop()
            pairs[pairs[i]] = i
    return pairs


def regions_of(tokens, pairs):
    """(kind, name, first, last) of what may be mutated: function bodies, enums, initialisers."""
    regions, i = [], 0
    while i < len(tokens):
        if tokens[i].text != "{":
            i = pairs.get(i, i) + 1 if tokens[i].text in "([" else i + 1
            continue
        last = pairs.get(i, len(tokens) - 1)
        before = tokens[i - 1]
        if before.text == ")":
            regions.append(("function", tokens[pairs[i - 1] - 1].text, i, last))
        elif before.text == "=":
            at = i - 2
            while tokens[at].text == "]":
                at = pairs[at] - 1
            regions.append(("initialiser", tokens[at].text, i, last))
        elif "enum" in (before.text, tokens[i - 2].text):
            regions.append(("enum", "enum", i, last))
        i = last + 1
    return regions


class File:
    """A C file being mutated."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.tokens = tokens_of(text)
        self.pairs = pairs_of(self.tokens)
        self.found = {}  # (start, end, after): Mutant
        self.line_starts = [0] + [m.end() for m in re.finditer("\n", text)]

    def mutants(self):
        for kind, where, first, last in regions_of(self.tokens, self.pairs):
            self.lines_seen = {}
            self.loop_headers = self.find_loop_headers(first, last)
            for i in self.indices(first + 1, last):
                self.token_mutants(where, i, kind)
                if kind == "function":
                    self.statement_mutants(where, i)
        return sorted(self.found.values(), key=lambda m: (m.start, m.end, m.after))

    def find_loop_headers(self, first, last):
        """The indices of the tokens in parentheses behind a `for`."""
        return {
            j
            for i in range(first, last)
            if self.tokens[i].text == "for" and self.tokens[i + 1].text == "("
            for j in range(i + 2, self.pairs[i + 1])
        }

    def indices(self, first, last):
        i = first
        while i < last:
            if self.tokens[i].text in OPAQUE and self.tokens[i + 1].text == "(":
                i = self.pairs[i + 1]
            else:
                yield i
            i += 1

    def add(self, where, operator, start, end, after):
        before = self.text[start:end]
        key = (start, end, after)
        if key in self.found or " ".join(before.split()) == after:
            return
        nr = next(i for i in range(len(self.line_starts), 0, -1) if self.line_starts[i - 1] <= start)
        line_start = self.line_starts[nr - 1]
        line = self.text[line_start:].split("\n", 1)[0]
        text = " ".join(line.split())
        # Equal lines of a function are told apart by their number, lines by nothing else: a
        # mutant keeps its identity when code is moved or added above it.
        same = self.lines_seen.setdefault(text, [])
        if nr not in same:
            same.append(nr)
        if same.index(nr):
            where = f"{where}#{same.index(nr) + 1}"
        shown = " ".join(before.split())
        column = len(" ".join(line[: start - line_start].split()))
        identity = "\0".join((self.name, where, text, str(column), shown, after))
        digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
        self.found[key] = Mutant(
            digest, self.name, nr, start - line_start + 1, where, operator, start, end, shown,
            after, text,
        )  # fmt: skip

    def is_binary(self, i):
        token = self.tokens[i]
        return self.text[token.end].isspace() and self.text[token.start - 1].isspace()

    def token_mutants(self, where, i, kind):
        token, previous = self.tokens[i], self.tokens[i - 1]
        text, start, end = token.text, token.start, token.end

        def swap(operator, *afters):
            for after in afters:
                self.add(where, operator, start, end, after)

        if token.kind == "number":
            swap("constant", *number_mutants(text, previous.text in ("<<", ">>", "<<=", ">>=")))
        elif text in ("true", "false"):
            swap("constant", "false" if text == "true" else "true")
        elif text in ("break", "continue") and self.tokens[i + 1].text == ";":
            swap("jump", "continue" if text == "break" else "break", "")
        elif text == "return" and kind == "function":
            self.return_mutants(where, i)
        elif token.kind == "punct":
            if text in RELATIONAL:
                swap("relational", *self.other_relations(i))
            elif text in ASSIGNMENT:
                swap("assignment", ASSIGNMENT[text])
            elif text in STEP and i not in self.loop_headers:  # there it only runs away
                swap("arithmetic", STEP[text])
            elif text in LOGICAL:
                swap("logical", LOGICAL[text])
                self.atom_mutants(where, i)
            elif text in ARITHMETIC and self.is_binary(i):
                swap("arithmetic", ARITHMETIC[text])
            elif text in BITWISE and self.is_binary(i):
                swap("bitwise", BITWISE[text])
            elif text in ("!", "~") or (text == "-" and not self.text[end].isspace()):
                swap("unary", "")
            elif text == "?":
                first = self.atom_start(i)
                self.condition_mutants(where, first, i)

    def other_relations(self, i):
        text, following = self.tokens[i].text, self.tokens[i + 1].text
        if text in ("==", "!=") and following.isupper() and following[0].isalpha():
            return RELATIONAL[text][:1]  # an enumerator: the order of those means nothing
        # A loop that counts up to n with < does the same with !=.
        same = ("!=", "<") if i in self.loop_headers else ()
        return [r for r in RELATIONAL[text] if r not in same]

    def atom_start(self, i):
        """Index of the first token of the operand that ends before token @i."""
        first = i
        ends = ATOM_ENDS - set(LOGICAL) if self.tokens[i].text == "?" else ATOM_ENDS
        while first > 0:
            before = self.tokens[first - 1].text
            if before in ")]}":
                first = self.pairs[first - 1]
            elif before in CLOSE or before in ends:
                break
            else:
                first -= 1
        return first

    def atom_end(self, i):
        """Index behind the last token of the operand that begins behind token @i."""
        last = i + 1
        while self.tokens[last].text not in ATOM_ENDS and self.tokens[last].text not in ")]}":
            last = self.pairs[last] + 1 if self.tokens[last].text in CLOSE else last + 1
        return last

    def atom_mutants(self, where, i):
        """Each clause of && or || that does not count."""
        neutral = "1" if self.tokens[i].text == "&&" else "0"
        for first, last in ((self.atom_start(i), i), (i + 1, self.atom_end(i))):
            self.add(
                where, "clause", self.tokens[first].start, self.tokens[last - 1].end, neutral
            )  # fmt: skip

    def condition_mutants(self, where, first, last, constants=("1", "0")):
        tokens = self.tokens[first:last]
        if not tokens:
            return
        start, end = tokens[0].start, tokens[-1].end
        for constant in constants:
            self.add(where, "condition", start, end, constant)
        logical = any(t.text in LOGICAL for t in tokens)
        if logical or not (tokens[0].text == "!" or any(t.text in RELATIONAL for t in tokens)):
            shown = " ".join(self.text[start:end].split())
            self.add(where, "condition", start, end, f"!({shown})")

    def return_mutants(self, where, i):
        last = i + 1
        while self.tokens[last].text != ";":
            last = self.pairs[last] + 1 if self.tokens[last].text in CLOSE else last + 1
        if last == i + 1:
            self.add(where, "statement", self.tokens[i].start, self.tokens[i].end, "")
            return
        start, end = self.tokens[i + 1].start, self.tokens[last - 1].end
        if last == i + 2 and (
            self.tokens[i + 1].kind == "number" or self.text[start:end] in ("true", "false")
        ):
            return  # a constant: mutated as such
        shown = " ".join(self.text[start:end].split())
        self.add(where, "return", start, end, "0")
        self.add(where, "return", start, end, f"({shown}) + 1")

    def statement_mutants(self, where, i):
        """What begins at token @i: a condition, an assignment, a call, an initialiser."""
        token, previous = self.tokens[i], self.tokens[i - 1]
        if token.text in ("if", "while") and self.tokens[i + 1].text == "(":
            # A loop without end is found out by the limit on CPU time alone: not tried.
            constants = ("1", "0") if token.text == "if" else ("0",)
            self.condition_mutants(where, i + 2, self.pairs[i + 1], constants)
        elif token.text == "for" and self.tokens[i + 1].text == "(":
            inside = self.top_level(i + 2, self.pairs[i + 1])
            parts = [j for j in inside if self.tokens[j].text == ";"]
            if len(parts) == 2:
                self.condition_mutants(where, parts[0] + 1, parts[1], ("0",))
        elif token.text == "." and previous.text in "{,":
            last = i
            while self.tokens[last].text != "," and self.tokens[last].text != "}":
                last = self.pairs[last] + 1 if self.tokens[last].text in CLOSE else last + 1
            self.add(where, "initialiser", token.start, self.tokens[last - 1].end, "")
        elif self.begins_statement(i) and token.text not in NO_EXPRESSION:
            self.expression_statement(where, i)

    def top_level(self, first, last):
        i = first
        while i < last:
            yield i
            i = self.pairs[i] + 1 if self.tokens[i].text in CLOSE else i + 1

    def begins_statement(self, i):
        previous = self.tokens[i - 1].text
        if i in self.loop_headers:
            return False
        if previous in (";", "{", "}", "else", "do"):
            return True
        if previous == ":":
            line = self.text[: self.tokens[i - 1].start].rsplit("\n", 1)[1].strip()
            return line.startswith(("case ", "default"))
        if previous == ")":
            opener = self.tokens[self.pairs[i - 1] - 1].text
            return opener in ("if", "for", "while", "switch")
        return False

    def expression_statement(self, where, i):
        token, following = self.tokens[i], self.tokens[i + 1]
        if token.kind != "name" and token.text not in ("*", "++", "--", "("):
            return
        if token.kind == "name" and following.kind == "name":
            return  # a declaration
        if token.kind == "name" and following.text == "*":
            return  # a declaration of a pointer
        last = i
        while self.tokens[last].text != ";":
            if self.tokens[last].text in ")}":
                return
            last = self.pairs[last] + 1 if self.tokens[last].text in CLOSE else last + 1
        self.add(where, "statement", token.start, self.tokens[last - 1].end, "")


def number_mutants(text, shift):
    """Other values for a number; none for what is no integer."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", text)
    if not match:
        return
    base = 16 if match[1][:2].lower() == "0x" else 10
    value = int(match[1], base)
    others = [value + 1]
    if value == 1 or (shift and value):
        others.append(value - 1)
    for other in others:
        yield (hex(other) if base == 16 else str(other)) + match[2]


def mutants_of(name, text):
    """The mutants of the file @name whose bytes are @text, in order of place."""
    return File(name, text).mutants()


def apply(text, mutant):
    return text[: mutant.start] + mutant.after + text[mutant.end :]
