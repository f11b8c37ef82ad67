"""Leaves out the bodies of inline functions in preprocessed headers.

Most of the time that a compiler needs for a short source with torch's headers goes into bodies of inline functions: it
parses them, instantiates the templates that they use, and drops them. A body that is left out is replaced by ";", as in

    before    struct A { int f() const { return n; } A() : n(0) {} int n; };      int A::g() { return f(); }
    after     struct A { int f() const ; A() ; int n; };                          ;

and is compiled once, with the other bodies, into an archive that each module is linked with (torch_prefix.py). The
bodies that a compiler may need to compile a source stay: those of templates, of constexpr functions, of functions whose
result is deduced, of functions that only the source itself can define because they are static or in an unnamed
namespace, of functions that must be inlined, and of functions for the device.

The stripper reads tokens, not a grammar. A mistake leaves a text that does not compile, so that no prefix is made, or a
function that no object defines, which the link of a module reports. Line numbers stay as they are.
"""

import re

TOKEN = re.compile(
    r"""(?P<skipped>^[ \t]*\#[^\n]*(?:\\\n[^\n]*)*|\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
        |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    |(?P<other>::|->|&&|<<|\.\.\.|[{}()\[\];,<>=.:?*&|!~^%/+\-@\\`])""",
    re.S | re.X | re.M,
)
# Words between the parameters of a function and its body.
QUALIFIERS = frozenset(
    ("const", "volatile", "noexcept", "override", "final", "&", "&&", "mutable", "throw", "try", "requires")
    + ("__attribute__", "__asm__", "__asm")
)
# Words in a function's declaration that keep its body. CUDA's macros are attributes after preprocessing.
KEPT_WORDS = frozenset(
    ("constexpr", "consteval", "auto", "decltype", "__builtin_va_arg_pack")
    + ("gnu_inline", "__gnu_inline__", "always_inline", "__always_inline__")
    + ("__device__", "device", "global", "device_builtin", "shared", "constant", "managed")
)
# Words whose parentheses hold no parameters.
NOT_CALLABLE = frozenset(
    ("throw", "noexcept", "decltype", "alignas", "__asm__", "__asm", "__decltype", "typeof", "__typeof__")
)
OPERATORS = frozenset("< > = << + - * / % ! ~ ^ & && | , ->".split())


class Unreadable(Exception):
    """The text is not what a preprocessor leaves of a correct header; the text of the error says where."""


def without_bodies(text: str) -> str:
    """Returns the text without bodies, except for those that every source needs itself: the bodies of templates, static
    functions and unnamed namespaces.
    """
    stripper = BodyStripper(text)
    stripper.find_edits()
    return stripper.stripped()


class BodyStripper:
    """Reads the declarations of a preprocessed text and collects the places of the bodies that are left out."""

    def __init__(self, text: str, leaves_out_templates: bool = False) -> None:
        self.text = text
        self.leaves_out_templates = leaves_out_templates  # and the bodies that each source defines itself
        found = [m for m in TOKEN.finditer(text) if m.lastgroup not in ("skipped", "mark")]
        self.words = [m.group() for m in found]
        self.starts = [m.start() for m in found]
        self.ends = [m.end() for m in found]
        self.match = self.matched_brackets()
        self.edits: list[tuple[int, int]] = []
        self.static_names: set[str] = set()  # functions that are declared static; a later definition need not say so
        self.template_depth = 0  # of class templates around the current declaration
        self.unnamed_depth = 0  # of unnamed namespaces around the current declaration

    def find_edits(self) -> list[tuple[int, int]]:
        """Finds and returns the begin and the end of every body that is left out."""
        self.scope(0, len(self.words), is_class=False)
        return self.edits

    def stripped(self, part: int = 0, of_parts: int = 0) -> str:
        """Returns the text without the bodies that find_edits() found, but for one of several parts of them."""
        size = max(1, sum(end - start for start, end in self.edits))
        before, parts, at = 0, [], 0
        for start, end in self.edits:
            stays = of_parts > 0 and before * of_parts // size == part
            before += end - start
            if stays:
                continue
            parts += [self.text[at:start], ";", "\n" * self.text.count("\n", start, end)]
            at = end
        return "".join([*parts, self.text[at:]])

    def matched_brackets(self) -> list[int]:
        match, open_at = [0] * len(self.words), []
        for i, word in enumerate(self.words):
            if word in ("(", "[", "{"):
                open_at.append(i)
            elif word in (")", "]", "}"):
                if not open_at:
                    raise Unreadable(f"a bracket closes nothing at byte {self.starts[i]}")
                match[i] = open_at.pop()
                match[match[i]] = i
        if open_at:
            raise Unreadable(f"a bracket is not closed at byte {self.starts[open_at[-1]]}")
        return match

    def scope(self, at: int, end: int, is_class: bool) -> None:
        while at < end:
            at = self.declaration(at, end, is_class)

    def declaration(self, at: int, end: int, is_class: bool) -> int:
        """Reads one declaration and returns the index of the next one."""
        word = self.words[at]
        if word == ";":
            return at + 1
        if word in ("public", "private", "protected") and self.words[at + 1] == ":":
            return at + 2
        space = at + 1 if word == "inline" and self.words[at + 1] == "namespace" else at
        if self.words[space] == "namespace":
            return self.namespace(space)
        if word == "extern" and self.words[at + 1].startswith('"') and self.words[at + 2] == "{":
            self.scope(at + 3, self.match[at + 2], is_class=False)
            return self.match[at + 2] + 1
        return Declaration(self, at, end, is_class).read()

    def namespace(self, at: int) -> int:
        brace = at
        while self.words[brace] not in ("{", ";"):
            brace = self.match[brace] + 1 if self.words[brace] in ("(", "[") else brace + 1
        if self.words[brace] == ";":
            return brace + 1
        is_unnamed = self.words[brace - 1] == "namespace"
        self.unnamed_depth += is_unnamed
        self.scope(brace + 1, self.match[brace], is_class=False)
        self.unnamed_depth -= is_unnamed
        return self.match[brace] + 1

    def after_angles(self, at: int) -> int:
        """Returns the index after the brackets that begin with the "<" at `at`."""
        depth = 0
        while at < len(self.words):
            word = self.words[at]
            if word in ("(", "[", "{"):
                at = self.match[at]
            elif word in ("<", "<<"):
                depth += len(word)
            elif word == ">":
                depth -= 1
                if depth == 0:
                    return at + 1
            elif word == ";":
                return at
            at += 1
        return at


class Declaration:
    """Reads one declaration up to its end, and leaves out the body if it is a function that may go without."""

    def __init__(self, stripper: BodyStripper, at: int, end: int, is_class: bool) -> None:
        self.stripper = stripper
        self.words, self.match = stripper.words, stripper.match
        self.start = self.at = at
        self.end = end
        self.in_class = is_class
        self.seen: set[str] = set()
        self.is_template = self.has_value = self.says_class = self.says_enum = False
        self.parameters = -1  # the index of the last bracket that may hold the parameters of a function
        self.operator = -1  # the index of the word "operator"
        self.after: list[str] = []  # the words after the parameters

    def read(self) -> int:
        while self.at < self.end:
            word = self.words[self.at]
            if word == ";":
                if "static" in self.seen and not self.in_class and self.parameters > 0:
                    self.stripper.static_names.add(self.words[self.parameters - 1])
                return self.at + 1
            if word == "template" and self.words[self.at + 1] == "<":
                self.is_template = True
                self.at = self.stripper.after_angles(self.at + 1)
            elif word in ("(", "["):
                self.brackets(word)
            elif word == "{":
                if (after := self.brace()) is not None:
                    return after
            elif word == ":" and not self.has_value and self.is_function():
                return self.constructor()
            elif word == "operator":
                self.operator_name()
            else:
                self.word(word)
        return self.end

    def brackets(self, word: str) -> None:
        before = self.words[self.at - 1]
        close = self.match[self.at]
        if word == "(" and before in ("__attribute__", "__attribute"):
            self.seen.update(self.words[self.at : close])
        elif word == "(" and before not in NOT_CALLABLE:
            self.parameters, self.after = self.at, []
        self.at = close + 1

    def brace(self) -> int | None:
        """Reads what a "{" begins. Returns the index of the next declaration, or None if this one continues."""
        close = self.match[self.at]
        if self.has_value or self.says_enum:
            self.at = close + 1
        elif self.says_class and (self.parameters < 0 or self.is_class_head()):
            self.stripper.template_depth += self.is_template
            self.stripper.scope(self.at + 1, close, is_class=True)
            self.stripper.template_depth -= self.is_template
            self.at = close + 1
            self.says_class, self.parameters, self.after = False, -1, []
        elif self.is_function():
            if not self.keeps_body(KEPT_WORDS):
                self.leave_out(self.at, close)
            return self.after_body(close)
        else:
            self.at = close + 1
            self.after.append("{}")
        return None

    def constructor(self) -> int:
        """Reads the initialisers and the body of a constructor."""
        at = self.at + 1
        while True:
            while self.words[at] not in ("(", "{"):
                at = self.stripper.after_angles(at) if self.words[at] == "<" else at + 1
            at = self.match[at] + 1
            at += self.words[at] == "..."
            if self.words[at] != ",":
                break
            at += 1
        if self.words[at] != "{":
            raise Unreadable(f"initialisers without a body at byte {self.stripper.starts[at]}")
        close = self.match[at]
        if not self.keeps_body(KEPT_WORDS):
            self.leave_out(self.at, close)
        return self.after_body(close)

    def operator_name(self) -> None:
        self.operator = self.at
        self.seen.add("operator")
        self.after.append("operator")
        self.at += 1
        if self.words[self.at] in ("(", "["):
            self.at = self.match[self.at] + 1
        else:
            while self.words[self.at] in OPERATORS:
                self.at += 1

    def word(self, word: str) -> None:
        self.has_value = self.has_value or word == "="
        self.says_class = self.says_class or word in ("struct", "class", "union")
        self.says_enum = self.says_enum or word == "enum"
        self.seen.add(word)
        self.after.append(word)
        if word == "<" and re.match(r"[A-Za-z_]\w*$", self.words[self.at - 1]):
            self.at = self.stripper.after_angles(self.at)
            self.after.append("<>")
        else:
            self.at += 1

    def is_function(self) -> bool:
        """Returns whether what was read so far is a function up to its body."""
        if self.parameters < 0:
            return False
        for word in self.after:
            if word == "->":
                return True
            if word not in QUALIFIERS:
                return False
        return True

    def is_class_head(self) -> bool:
        """Tells `struct X : Base<decltype(f())> {` from the function `struct X f() {`."""
        at = self.start
        while at < self.at:
            word = self.words[at]
            if word == "template" and self.words[at + 1] == "<":
                at = self.stripper.after_angles(at + 1)
                continue
            at += 1
            if word not in ("struct", "class", "union"):
                continue
            while at < self.at:
                word = self.words[at]
                if word in (":", "("):
                    return word == ":"
                if word in ("__attribute__", "alignas", "__declspec"):
                    at = self.match[at + 1] + 1
                elif word == "[":
                    at = self.match[at] + 1
                else:
                    at = self.stripper.after_angles(at) if word == "<" else at + 1
            return True
        return False

    def keeps_body(self, words: frozenset[str]) -> bool:
        if self.seen & words:
            return True
        if self.stripper.leaves_out_templates:
            return False
        is_static = "static" in self.seen or self.words[self.parameters - 1] in self.stripper.static_names
        has_own_copy = self.stripper.unnamed_depth > 0 or (is_static and not self.in_class)
        return self.is_template or self.stripper.template_depth > 0 or has_own_copy

    def leave_out(self, at: int, close: int) -> None:
        # A member that is defined outside of its class has been declared there, and a second declaration is an error.
        first = self.start if not self.in_class and self.is_qualified() else at
        self.stripper.edits.append((self.stripper.starts[first], self.stripper.ends[close]))

    def is_qualified(self) -> bool:
        if self.operator >= 0:
            return self.words[self.operator - 1] == "::"
        at = self.parameters - 1
        if self.words[at] == ">":
            depth = 0
            while at > 0:
                depth += (self.words[at] == ">") - (self.words[at] == "<")
                at -= 1
                if depth == 0:
                    break
        if self.words[at - 1] == "~":
            at -= 1
        return self.words[at - 1] == "::"

    def after_body(self, close: int) -> int:
        at = close + 1
        while at < len(self.words) and self.words[at] == "catch":
            at = self.match[self.match[at + 1] + 1] + 1
        return at
