"""Splits a CUDA source into two: the host half for g++, and the device half for nvcc.

nvcc reads every header of torch twice, and no precompiled header helps its host step. A typical source does not need
that: its kernels use nothing of torch, and its host functions are C++ except for `k<<<...>>>(...)`. The host half is
therefore the source with each kernel replaced by a function that launches it, and without the bodies of __device__
functions. The device half is the source without its host functions.

    source           __global__ void k(float* x) { ... }    void run(Tensor t) { k<<<1, 32>>>(t.data_ptr<float>()); }
    host half        void k(float* x) { kq_launch(...); }   void run(Tensor t) { (push configuration) ? 0 : k(...); }
    device half      __global__ void k(float* x) { ... }

The splitter reads tokens, not a grammar, and raises Refused for whatever it does not know for certain. A wrong split
ends in a compiler's error, or in a kernel or variable that only one half has. In each case nvcc then compiles the
source as it is.
"""

import re
from dataclasses import dataclass, field

from harness.extensions.cuda.cuda_tokens import Refused, Token, balanced, has_call, tokens_of, words_outside

INCLUDE = re.compile(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]")
# Headers that only the host half needs, and headers that only device code can use or that g++ reads differently from
# nvcc.
HOST_HEADERS = ("torch/", "ATen/", "c10/", "c10.h", "pybind11/", "Python.h", "THC/", "caffe2/")
# Headers that give nvcc FLT_MAX and the like, by thrust/complex.h, and what the device half includes instead.
WITH_LIMITS = ("torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "ATen/ATen.h")
LIMITS = "#include <cfloat>"
DEVICE_HEADERS = (
    "cub/",
    "thrust/",
    "cooperative_groups",
    "mma.h",
    "cuda/",
    "cuda_pipeline",
    "sm_",
    "device_functions.h",
    "math_functions.h",
    "crt/",
    "device_launch_parameters.h",
    "cute/",
    "cutlass/",
    "nvtx",
)
HOST_WORDS = frozenset(("torch", "at", "c10", "py", "pybind11", "caffe2"))
DEVICE_WORDS = frozenset(("cooperative_groups", "cub", "nvcuda", "thrust", "cute", "cutlass"))
# Words whose presence makes the split uncertain, so that nvcc compiles the whole source: code that depends on the
# compiler, memory that both sides share, and names that only nvcc makes.
HIDERS = frozenset(
    ("__CUDACC__", "__NVCC__", "__managed__", "__CUDACC_RDC__", "asm_volatile", "_Pragma", "__device_stub__")
)
# The parentheses behind these words belong to an attribute or a type: they hold neither parameters nor an initialiser.
ATTRIBUTES = frozenset(("__align__", "alignas", "__attribute__", "__launch_bounds__", "decltype"))


@dataclass(frozen=True)
class Kernel:
    name: str
    is_template: bool


@dataclass(frozen=True)
class Variable:
    """A device variable that the host half names."""

    name: str
    is_constant: bool


@dataclass
class Split:
    host: str
    device: str
    kernels: list[Kernel] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)


def split(source: str) -> Split:
    return Splitter(source).split()


class Splitter:
    """Walks over the tokens of one source and collects the edits that make each half. An edit replaces a part of the
    source; text without an edit stays in both halves. A token of kind `mark_` is punctuation (cuda_tokens.py).
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = list(tokens_of(source))
        self.host: list[tuple[int, int, str]] = []  # the edits of the host half: start, end, replacement
        self.device: list[tuple[int, int, str]] = []
        self.kernels: list[Kernel] = []
        self.variables: list[tuple[int, int]] = []  # where declarations of device variables begin and end

    def split(self) -> Split:
        for token in self.tokens:
            if token.text in HIDERS:
                raise Refused(f"it says {token.text}")
        self.namespace(0, len(self.tokens))
        if self.variables and not self.kernels:
            raise Refused("it has variables of the device and no kernel")
        if len({kernel.name for kernel in self.kernels}) != len(self.kernels):
            raise Refused("two kernels have one name")
        self.launches()
        named = self.name_variables()
        return Split(edited(self.source, self.host), edited(self.source, self.device), self.kernels, named)

    # --- the items of a namespace

    def namespace(self, at: int, end: int) -> None:
        while at < end:
            token = self.tokens[at]
            if token.kind == "directive":
                self.directive(token)
                at += 1
            elif token.text == ";":
                at += 1
            elif (body := self.scope_of(at, end)) is not None:
                close = self.match(body)
                self.namespace(body + 1, close)
                at = close + 1
            else:
                at = self.item(at, end)

    def scope_of(self, at: int, end: int) -> int | None:
        """Returns the index of the brace of `namespace a {` or `extern "C" {` if one begins here, else None."""
        words = [token.text for token in self.tokens[at : at + 8]]
        start = at + 1 if words[:2] == ["inline", "namespace"] else at
        if self.tokens[start].text == "namespace":
            for brace in range(start + 1, min(end, start + 8)):
                if self.tokens[brace].text == "{":
                    if brace == start + 1:
                        # Kernels in an unnamed namespace have no linkage, so they could not be found by name.
                        for edits in (self.host, self.device):
                            edits.append(
                                (self.tokens[start].start, self.tokens[brace].start, "inline namespace kq_local ")
                            )
                    return brace
                if self.tokens[brace].text in ("=", ";"):
                    return None
        if words[0] == "extern" and len(words) > 2 and words[1] == '"C"' and words[2] == "{":
            return at + 2
        return None

    def directive(self, token: Token) -> None:
        include = INCLUDE.match(token.text)
        if include is not None:
            name = include.group(1)
            if name.startswith(DEVICE_HEADERS):
                self.host.append((token.start, token.end, ""))
            elif name.endswith(".cuh"):
                raise Refused(f"it includes {name}")
            elif name.startswith(HOST_HEADERS):
                self.device.append((token.start, token.end, LIMITS if name in WITH_LIMITS else ""))
            elif '"' in token.text and not name.startswith("cuda"):
                raise Refused(f"it includes a file of its own, {name}")
        elif any(word in token.text for word in ("__global__", "<<<", "__CUDACC__", "__NVCC__")):
            raise Refused("a macro or a condition is about kernels")

    def item(self, at: int, end: int) -> int:
        """Handles one declaration or definition and returns the index of the next."""
        stop, body = self.extent(at, end)
        tokens = self.tokens[at:stop]
        if any(token.kind == "directive" for token in tokens) and not balanced(tokens):
            raise Refused("a condition begins inside of a definition")
        head = self.tokens[self.after_template(at) : body if body is not None else stop]
        words = {token.text for token in head}
        is_class = self.is_class(head)
        if "__global__" in words and body is not None and not is_class:
            self.kernel(at, body, stop)
        elif is_class:
            if body is not None:
                self.members(body, stop)
            self.keep_in_both_unless_torch(tokens, at, stop)
        elif body is not None and "=" not in words_outside(head):
            self.function(words, tokens, at, body, stop)
        elif "__global__" in words:
            self.strip(head, self.device)
            self.strip(head, self.host)
        elif words & {"__device__", "__constant__"}:
            if self.is_variable(head, words):
                self.variables.append((at, stop))
        elif words & {"using", "namespace"} and words & DEVICE_WORDS:
            self.drop(self.host, at, stop)
        elif "namespace" in words and "=" in words:
            self.keep_in_both_unless_torch(tokens, at, stop)
        elif words & {"using", "typedef", "constexpr", "const", "enum", "static_assert"} and "(" not in words - {
            "static_assert"
        }:
            self.keep_in_both_unless_torch(tokens, at, stop)
        elif words & {"constexpr", "const", "static_assert"} and "=" in words:
            self.keep_in_both_unless_torch(tokens, at, stop)
        else:
            self.drop(self.device, at, stop)
        return stop

    def extent(self, at: int, end: int) -> tuple[int, int | None]:
        """Returns the end of an item, and the index of its body's brace."""
        body: int | None = None
        bare = i = self.after_template(at)
        while i < end:
            text = self.tokens[i].text
            if text in ("(", "["):
                i = self.match(i)
            elif text == "{":
                close = self.match(i)
                body = i if body is None else body
                if not self.is_class(self.tokens[bare:i]) and not self.continues_after_brace(
                    self.tokens[bare:i], close
                ):
                    return close + 1, body
                i = close
            elif text == ";":
                return i + 1, body
            i += 1
        raise Refused("a declaration does not end")

    def continues_after_brace(self, head: list[Token], close: int) -> bool:
        """Returns whether the item goes on after the brace, as in `int a[] = {1, 2};` and `auto f = [] { ... };`."""
        return "=" in words_outside(head) or (
            close + 1 < len(self.tokens) and self.tokens[close + 1].text in (";", ",") and not has_call(head)
        )

    def is_class(self, head: list[Token]) -> bool:
        words = [token.text for token in head]
        while words and words[0] in ("typedef", "static", "const"):
            words = words[1:]
        return (
            bool(words)
            and words[0] in ("struct", "class", "union", "enum")
            and "(" not in [w for w in words if w != "__align__"][:4]
        )

    def function(self, words: set[str], tokens: list[Token], at: int, body: int, stop: int) -> None:
        if "__device__" in words and "__host__" not in words:
            self.drop_body(body, stop, " = delete;")  # nvcc refuses a host function that calls it
        elif "__device__" in words or "constexpr" in words:
            self.keep_in_both_unless_torch(tokens, at, stop)
        else:
            if any(token.text in ("__device__", "__global__", "__shared__") for token in tokens):
                raise Refused("a function of the host has device code in it")
            self.drop(self.device, at, stop)

    def members(self, body: int, stop: int) -> None:
        """Replaces the bodies of __device__ members in the host half."""
        i, device, host = body + 1, False, False
        while i < stop:
            text = self.tokens[i].text
            if text == "__global__":
                raise Refused("a kernel is a member")
            device, host = device or text == "__device__", host or text == "__host__"
            if text in ("(", "["):
                i = self.match(i)
            elif text == "{":
                close = self.match(i)
                if device and not host:
                    self.drop_body(i, close + 1, "{ __builtin_trap(); }")
                i, device, host = close, False, False
            elif text == ";":
                device = host = False
            i += 1

    def keep_in_both_unless_torch(self, tokens: list[Token], at: int, stop: int) -> None:
        """Keeps an item in both halves, unless the item uses torch; then it stays in the host half only."""
        if any(token.text in HOST_WORDS or token.text == "std" for token in tokens):
            if any(token.text == "__device__" for token in tokens):
                raise Refused("device code names torch")
            self.drop(self.device, at, stop)

    # --- variables of the device

    def name_variables(self) -> list[Variable]:
        """Returns the device variables that the host half names, for cudaMemcpyToSymbol and similar calls, and drops
        the others from it. A named variable has a counterpart of the same type in the host half, whose address stands
        for it.
        """
        found = []
        without = edited(
            self.source,
            [*self.host, *((self.tokens[at].start, self.tokens[stop - 1].end, "") for at, stop in self.variables)],
        )
        words = {token.text for token in tokens_of(without) if token.kind == "word"}
        for at, stop in self.variables:
            variable = self.variable(at, stop) if words & {token.text for token in self.tokens[at:stop]} else None
            if variable is not None and variable.name in words:
                found.append(variable)
            else:
                self.drop(self.host, at, stop)
        if len({variable.name for variable in found}) != len(found):
            raise Refused("two variables have one name")
        return found

    def is_variable(self, head: list[Token], words: set[str]) -> bool:
        """Returns whether a declaration is of a variable and not of a function."""
        at = 0
        while at < len(head):
            if head[at].text == "(":
                before, behind = head[at - 1].text if at else "", head[at + 1] if at + 1 < len(head) else None
                if before not in ATTRIBUTES:
                    if words & {"=", "["}:
                        return True
                    if "__constant__" in words or (
                        behind is not None and (behind.kind in ("number", "text") or behind.text in ("*", "&"))
                    ):
                        raise Refused("a variable of the device is written in a way that is not known")
                    return False
                depth = 0
                while at < len(head):
                    depth += (head[at].text == "(") - (head[at].text == ")")
                    if depth == 0:
                        break
                    at += 1
            at += 1
        return True

    def variable(self, at: int, stop: int) -> Variable | None:
        """Keeps the declaration of a variable in both halves and gives it external linkage. Returns None if the
        declaration is written in a form that is not known here.
        """
        tokens = self.tokens[at:stop]
        end = next((i for i, token in enumerate(tokens) if token.text in ("[", "=", "{", ";")), 0)
        head = [token.text for token in tokens[:end]]
        known = (
            end > 1
            and tokens[end - 1].kind == "word"
            and not {",", "(", "extern", "const", "constexpr", "template", "inline", "__shared__"} & set(head)
        )
        if not known or any(token.kind == "directive" for token in tokens) or self.declares_more(tokens[end:]):
            return None
        own = '__attribute__((visibility("hidden")))'  # other libraries may have a variable of the same name
        for token in tokens[:end]:
            if token.text in ("__constant__", "__device__"):
                self.host.append((token.start, token.end, own))
            self.strip([token], self.host)
            self.strip([token], self.device)
        return Variable(tokens[end - 1].text, "__constant__" in head)

    def declares_more(self, tokens: list[Token]) -> bool:
        depth = 0
        for token in tokens:
            if token.kind == "mark_":
                depth += (token.text in "([{") - (token.text in ")]}")
                if token.text == "," and depth == 0:
                    return True
        return False

    # --- kernels and their launches

    def kernel(self, at: int, body: int, stop: int) -> None:
        """Replaces a kernel in the host half by a function that launches it. The device half keeps the kernel."""
        head = self.tokens[at:body]
        template, parameters = "", []
        start = at
        if head[0].text == "template":
            start = self.after_angles(at + 1)
            template = self.source[head[0].start : self.tokens[start - 1].end]
            parameters = [self.parameter_name(part) for part in self.parts(at + 2, start - 1)]
            if self.tokens[start].text == "template":
                raise Refused("a template of templates")
        close = body - 1
        while self.tokens[close].text != ")":
            close -= 1
        open_ = self.match_back(close)
        name = self.tokens[open_ - 1]
        before = [token.text for token in self.tokens[start : open_ - 1]]
        if name.kind != "word" or "void" not in before or self.tokens[open_ - 2].text == "::":
            raise Refused("a kernel is declared in a way that is not known")
        arguments = [part for part in self.parts(open_ + 1, close)]
        names = (
            []
            if [[t.text for t in part] for part in arguments] == [["void"]]
            else [self.parameter_name(part) for part in arguments]
        )
        linkage = 'extern "C" ' if '"C"' in before else ""
        own = name.text + (f"<{', '.join(parameters)}>" if template else "")
        addresses = "".join(f"(void*)__builtin_addressof({argument}), " for argument in names)
        list_text = self.source[self.tokens[open_].start : self.tokens[close].end]
        stub = (
            f"{template} {linkage}void {name.text}{list_text} "
            f"{{ void* kq_arguments[] = {{{addresses}nullptr}}; kq_launch((const void*)&{own}, kq_arguments); }}"
        )
        self.host.append(
            (
                self.tokens[at].start,
                self.tokens[stop - 1].end,
                stub + "\n" * self.source.count("\n", self.tokens[body].start, self.tokens[stop - 1].end),
            )
        )
        self.strip(self.tokens[start : open_ - 1], self.device)
        self.kernels.append(Kernel(name.text, bool(template)))

    def strip(self, head: list[Token], edits: list[tuple[int, int, str]]) -> None:
        """Removes the words that give a declaration internal linkage, because such a name could not be found."""
        edits += [
            (token.start, token.end, "") for token in head if token.text in ("static", "inline", "__forceinline__")
        ]

    def parameter_name(self, part: list[Token]) -> str:
        """Returns the name of one parameter; raises Refused if it has none or is a pack."""
        texts = [token.text for token in part]
        if "..." in texts:
            raise Refused("a kernel has a parameter pack")
        if "=" in texts:
            part = part[: texts.index("=")]
        while part and part[-1].text == "]":
            depth = 0
            while part:
                token = part[-1]
                part = part[:-1]
                depth += (token.text == "]") - (token.text == "[")
                if depth == 0:
                    break
        if (
            len(part) < 2
            or part[-1].kind != "word"
            or part[-1].text in ("int", "const", "float", "typename", "class", "bool", "unsigned", "double")
        ):
            raise Refused("a kernel has a parameter without a name")
        return part[-1].text

    def launches(self) -> None:
        """Replaces each `k<<<...>>>` in the host half by a push of the configuration and the name of the function."""
        kernels = {kernel.name for kernel in self.kernels}
        for i, token in enumerate(self.tokens):
            if token.text != "<<<" or token.kind != "mark_":
                continue
            depth, close = 0, i + 1
            while close < len(self.tokens) and not (depth == 0 and self.tokens[close].text == ">>>"):
                depth += (self.tokens[close].text in "([{") - (self.tokens[close].text in ")]}")
                close += 1
            if close + 1 >= len(self.tokens) or self.tokens[close + 1].text != "(":
                raise Refused("a launch is written in a way that is not known")
            start = self.name_before(i)
            if not kernels & {token.text for token in self.tokens[start:i]}:
                raise Refused("what is launched is no kernel of the source")
            name = self.source[self.tokens[start].start : token.start]
            settings = self.source[token.end : self.tokens[close].start]
            text = f"(__cudaPushCallConfiguration({settings})) ? (void)0 : {name}"
            self.host.append((self.tokens[start].start, self.tokens[close].end, text))

    def name_before(self, i: int) -> int:
        """Returns the index at which the name of a launched kernel begins, such as `ns::k<float, 4>`."""
        i -= 1
        if self.tokens[i].text in (">", ">>>"):
            depth = 0
            while i >= 0:
                depth += (
                    self.tokens[i].text.count(">") - self.tokens[i].text.count("<")
                    if self.tokens[i].kind == "mark_" and "-" not in self.tokens[i].text
                    else 0
                )
                if depth == 0:
                    break
                i -= 1
            i -= 1
        if self.tokens[i].kind != "word":
            raise Refused("what is launched is no name")
        while i >= 2 and self.tokens[i - 1].text == "::" and self.tokens[i - 2].kind == "word":
            i -= 2
        if self.tokens[i - 1].text in ("::", ".", "->"):
            raise Refused("what is launched is no name")
        return i

    # --- tokens

    def match(self, at: int) -> int:
        """Returns the index of the bracket that closes the one at `at`."""
        depth = 0
        for i in range(at, len(self.tokens)):
            text = self.tokens[i].text
            if self.tokens[i].kind == "mark_":
                depth += (text in "([{") - (text in ")]}")
                if depth == 0:
                    return i
        raise Refused("a bracket is never closed")

    def match_back(self, at: int) -> int:
        depth = 0
        for i in range(at, -1, -1):
            text = self.tokens[i].text
            if self.tokens[i].kind == "mark_":
                depth += (text in ")]}") - (text in "([{")
                if depth == 0:
                    return i
        raise Refused("a bracket is never opened")

    def after_template(self, at: int) -> int:
        """Returns the index at which a declaration continues after `template <...>`."""
        while self.tokens[at].text == "template" and self.tokens[at + 1].text == "<":
            at = self.after_angles(at + 1)
        return at

    def after_angles(self, at: int) -> int:
        depth = 0
        for i in range(at, len(self.tokens)):
            text = self.tokens[i].text
            if text in ("(", "{"):
                raise Refused("the parameters of a template are not plain")
            if text in ("<", "<<<", ">", ">>>"):
                depth += text.count("<") - text.count(">")
                if depth == 0:
                    return i + 1
        raise Refused("the parameters of a template do not end")

    def parts(self, start: int, end: int) -> list[list[Token]]:
        """Returns the groups of tokens between commas."""
        found: list[list[Token]] = [[]]
        depth = 0
        for token in self.tokens[start:end]:
            if token.kind == "mark_" and token.text in ("(", "[", "{", "<", ")", "]", "}", ">"):
                depth += 1 if token.text in "([{<" else -1
            if token.text == "," and depth == 0:
                found.append([])
            else:
                found[-1].append(token)
        return [part for part in found if part]

    def drop_body(self, body: int, stop: int, instead: str) -> None:
        """Replaces a body in the host half: g++ cannot compile device code, and host code never calls it."""
        first, last = self.tokens[body].start, self.tokens[stop - 1].end
        self.host.append((first, last, instead + "\n" * self.source.count("\n", first, last)))

    def drop(self, edits: list[tuple[int, int, str]], at: int, stop: int) -> None:
        """Removes an item from one half. Its line ends stay, so that errors name the lines of the source."""
        first, last = self.tokens[at].start, self.tokens[stop - 1].end
        edits.append((first, last, "\n" * self.source.count("\n", first, last)))


def edited(source: str, edits: list[tuple[int, int, str]]) -> str:
    """Applies edits to the source. An edit inside another one is dropped, because the outer one replaces the text."""
    parts, at = [], 0
    for start, end, text in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if start < at:
            continue
        parts += [source[at:start], text]
        at = end
    return "".join([*parts, source[at:]])
