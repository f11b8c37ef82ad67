"""Tests which facts a Python source has: names are followed as far as is possible without running anything, and no
further.
"""

import time
import unittest

from harness.facts.ast_facts import facts_of

# A source, and the fact that must be among its facts.
FOLLOWED = [
    ("import torch\ntorch.cuda.Stream()", "2 call torch.cuda.Stream"),
    ("torch.cuda.Stream()", "1 call torch.cuda.Stream"),
    ("if 0:\n    torch = 1\ntorch.cuda.Stream()", "3 call torch.cuda.Stream"),
    ("import torch as t\nt.cuda.Stream()", "2 call torch.cuda.Stream"),
    ("import torch.cuda as c\nc.Stream()", "2 call torch.cuda.Stream"),
    ("import torch.cuda\ntorch.cuda.Stream()", "2 call torch.cuda.Stream"),
    ("from torch import cuda\ncuda.Stream(priority=-1)", "2 call torch.cuda.Stream ?"),
    ("from torch.cuda import Stream as S\nS()", "2 call torch.cuda.Stream"),
    ("from torch.cuda import *\nStream()", "2 call torch.cuda.Stream"),
    ("import torch\nS = torch.cuda.Stream\nT = S\nT()", "4 call torch.cuda.Stream"),
    ("import torch\nS: type = torch.cuda.Stream\nS()", "3 call torch.cuda.Stream"),
    ("import torch\na, b = torch.cuda.Stream, 1\na()", "3 call torch.cuda.Stream"),
    ("import torch\nc = torch.cuda\ndef f():\n    return c.Stream()", "4 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, 'Stream')()", "2 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, 'Str' + 'eam')()", "2 call torch.cuda.Stream"),
    ("import torch\nn = 'Stream'\ngetattr(torch.cuda, n)()", "3 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, 'maertS'[::-1])()", "2 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, ''.join(['Str', 'eam']))()", "2 call torch.cuda.Stream"),
    ("import torch\np = 'eam'\ngetattr(torch.cuda, f'Str{p}')()", "3 call torch.cuda.Stream"),
    ("import torch\ntorch.cuda.__dict__['Stream']()", "2 call torch.cuda.Stream"),
    ("import torch\nvars(torch.cuda)['Stream']()", "2 call torch.cuda.Stream"),
    ("import sys\nsys.modules['torch.cuda'].Stream()", "2 call torch.cuda.Stream"),
    ("import importlib\nimportlib.import_module('torch.cuda').Stream()", "2 call torch.cuda.Stream"),
    ("__import__('torch').cuda.Stream()", "1 call torch.cuda.Stream"),
    ("__import__(name='torch').cuda.Stream()", "1 call torch.cuda.Stream"),
    ("import importlib\nimportlib.import_module(name='torch.cuda').Stream()", "2 call torch.cuda.Stream"),
    ("import torch\ngetattr(*(torch.cuda, 'Stream'))()", "2 call torch.cuda.Stream"),
    ("import sys\nsys.modules.copy()['torch.cuda'].Stream()", "2 call torch.cuda.Stream"),
    ("import torch\ndict(vars(torch.cuda))['Stream']()", "2 call torch.cuda.Stream"),
    (
        "import torch\ns = torch.cuda.current_stream() if x else None\nwith torch.cuda.stream(s):\n    ...",
        "3 call torch.cuda.stream torch.cuda.current_stream()",
    ),
    (
        "import torch\ns = torch.cuda.current_stream() if x else y()\nwith torch.cuda.stream(s):\n    ...",
        "3 call torch.cuda.stream ?",
    ),
    (
        (
            "import torch\nclass M:\n    def __init__(self):\n        self.s = torch.cuda.Stream\n"
            "    def f(self):\n        self.s()"
        ),
        "6 call torch.cuda.Stream",
    ),
    ("import torch\ndef f(S=torch.cuda.Stream):\n    S()", "3 call torch.cuda.Stream"),
    ("import torch\n[torch.cuda.Stream][0]()", "2 call torch.cuda.Stream"),
    ("import torch\nfor S in (torch.cuda.Stream,):\n    S()", "3 call torch.cuda.Stream"),
    ("import torch\nimport functools\nfunctools.partial(torch.cuda.Stream, priority=-1)()", "3 call torch.cuda.Stream"),
    ("import torch\nlist(map(torch.cuda.Stream, [0]))", "2 value torch.cuda.Stream"),
    ("import torch\nx = {'s': torch.cuda.Stream}", "2 value torch.cuda.Stream"),
    ("import torch\nclass S(torch.cuda.Stream):\n    ...", "2 base torch.cuda.Stream"),
    ("import torch\nexec('torch.cuda.Stream()')", "2 call torch.cuda.Stream"),
    ("import torch\nwith torch.cuda.stream(s):\n    ...", "2 call torch.cuda.stream s"),
    (
        "import torch\nwith torch.cuda.stream(torch.cuda.current_stream()):\n    ...",
        "2 call torch.cuda.stream torch.cuda.current_stream()",
    ),
    (
        "import torch\ns = torch.cuda.current_stream()\nwith torch.cuda.stream(s):\n    ...",
        "3 call torch.cuda.stream torch.cuda.current_stream()",
    ),
    ("import torch\ns = torch.cuda.Stream()\ns.synchronize()", "3 call torch.cuda.Stream().synchronize"),
    (
        "import ctypes\nl = ctypes.CDLL('libcudart.so')\nl.cudaStreamCreate(0)",
        "3 call ctypes.CDLL().cudaStreamCreate ?",
    ),
    ("def f(lib):\n    getattr(lib, 'cuStreamCreate')(0)", "2 call ?.cuStreamCreate ?"),
    ("import torch\n@torch.cuda.graph\ndef f(): ...", "2 call torch.cuda.graph"),
    (
        "import torch\nasync def f():\n    async with torch.cuda.stream(x) as s:\n        ...",
        "3 call torch.cuda.stream x",
    ),
    ("import torch\nif (S := torch.cuda.Stream):\n    S()", "3 call torch.cuda.Stream"),
    ("import torch\n(lambda S: S())(torch.cuda.Stream)", "2 value torch.cuda.Stream"),
    # Texts that are built, decoded or taken apart.
    ("import torch\ngetattr(torch.cuda, bytes([83, 116, 114, 101, 97, 109]).decode())()", "2 call torch.cuda.Stream"),
    (
        "import torch\ngetattr(torch.cuda, ''.join(map(chr, [83, 116, 114, 101, 97, 109])))()",
        "2 call torch.cuda.Stream",
    ),
    ("import torch\ngetattr(torch.cuda, ''.join(chr(c ^ 1) for c in b'Rusd`l'))()", "2 call torch.cuda.Stream"),
    (
        "import torch\ngetattr(torch.cuda, ''.join([c for c in 'S-t-r-e-a-m' if c != '-']))()",
        "2 call torch.cuda.Stream",
    ),
    ("import torch\ngetattr(torch.cuda, '%s%s' % ('Str', 'eam'))()", "2 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, '{}eam'.format('Str'))()", "2 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, 'Xtream'.replace('X', 'S'))()", "2 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, 'stream'.title())()", "2 call torch.cuda.Stream"),
    ("import torch, base64\ngetattr(torch.cuda, base64.b64decode('U3RyZWFt').decode())()", "2 call torch.cuda.Stream"),
    ("import torch, codecs\ngetattr(torch.cuda, codecs.decode('Fgernz', 'rot13'))()", "2 call torch.cuda.Stream"),
    ("import torch\nn = 'Str'\nn += 'eam'\ngetattr(torch.cuda, n)()", "4 call torch.cuda.Stream"),
    ("import torch\nd = {'k': 'Stream'}\ngetattr(torch.cuda, d['k'])()", "3 call torch.cuda.Stream"),
    # Names through functions, classes and globals of the file.
    ("import torch\ndef n():\n    return 'Stream'\ngetattr(torch.cuda, n())()", "4 call torch.cuda.Stream"),
    ("import torch\ndef g(o, n):\n    return getattr(o, n)\ng(torch.cuda, 'Stream')()", "4 call torch.cuda.Stream"),
    ("import torch\ndef g(n):\n    return getattr(torch.cuda, n)()\ng('Str' + 'eam')", "3 call torch.cuda.Stream"),
    ("import torch\nclass C:\n    S = torch.cuda.Stream\nC.S()", "4 call torch.cuda.Stream"),
    ("import torch\nS = None\ndef f():\n    global S\n    S = torch.cuda.Stream\nS()", "6 call torch.cuda.Stream"),
    (
        (
            "import torch\nclass A:\n    def n(self):\n        return 'Stream'\n    def f(self):\n"
            "        getattr(torch.cuda, self.n())()"
        ),
        "6 call torch.cuda.Stream",
    ),
    # Other ways to reach an attribute.
    ("import torch\ntorch.cuda.__getattribute__('Stream')()", "2 call torch.cuda.Stream"),
    ("import torch\nobject.__getattribute__(torch.cuda, 'Stream')()", "2 call torch.cuda.Stream"),
    ("import torch, operator\noperator.attrgetter('cuda.Stream')(torch)()", "2 call torch.cuda.Stream"),
    ("import torch, functools\nfunctools.reduce(getattr, ['cuda', 'Stream'], torch)()", "2 call torch.cuda.Stream"),
    ("import torch\nvars(torch.cuda).get('Stream')()", "2 call torch.cuda.Stream"),
    ("import torch\nglobals()['torch'].cuda.Stream()", "2 call torch.cuda.Stream"),
    ("import sys\nsys.modules.get('torch').cuda.Stream()", "2 call torch.cuda.Stream"),
    ("import pkgutil\npkgutil.resolve_name('torch.cuda:Stream')()", "2 call torch.cuda.Stream"),
    ("import torch\ntorch.cuda.Stream.__call__()", "2 call torch.cuda.Stream"),
    ("import torch\ntype(torch.cuda.current_stream())()", "2 call torch.cuda.current_stream().__class__"),
    ("from torch.cuda.streams import Stream\nStream()", "2 call torch.cuda.Stream"),
    ("eval('__import__(\"torch\")').cuda.Stream()", "1 call torch.cuda.Stream"),
    ("import torch\ngetattr(torch.cuda, input())()", "2 call torch.cuda.?"),
    # The text of an exec counts as code at its place.
    ("exec('import torch as t; K = t.cuda.Stream')\nK()", "2 call torch.cuda.Stream"),
    (
        "import base64\nexec(base64.b64decode('aW1wb3J0IHRvcmNoCnRvcmNoLmN1ZGEuU3RyZWFtKCk='))",
        "2 call torch.cuda.Stream",
    ),
    ("import base64\nexec(base64.b64decode('eA=='))", "2 call exec base64.b64decode"),
    (
        "import builtins\nrun = getattr(builtins, 'ex' + 'ec')\nrun('import torch; torch.cuda.Stream()')",
        "3 call torch.cuda.Stream",
    ),
    ("exec(compile('import torch\\ntorch.cuda.Stream()', 'x', 'exec'))", "1 call torch.cuda.Stream"),
    # Assignments to names of modules.
    ("import torch\ntorch.cuda.synchronize = f", "2 set torch.cuda.synchronize ?"),
    ("import torch\nsetattr(torch.cuda, 'synch' + 'ronize', f)", "2 set torch.cuda.synchronize ?"),
    ("import torch\nfor n in dir(torch.cuda):\n    setattr(torch.cuda, n, f)", "3 set torch.cuda.? ?"),
    ("import torch\nvars(torch.cuda)['synchronize'] = f", "2 set torch.cuda.synchronize ?"),
    ("import torch\ntorch.cuda.__dict__.update(synchronize=f)", "2 set torch.cuda.synchronize ?"),
    ("import torch\ntorch.cuda.Event.elapsed_time = lambda *a: 0.0", "2 set torch.cuda.Event.elapsed_time ?"),
    ("import time as t\nt.perf_counter = f", "2 set time.perf_counter ?"),
    ("from unittest import mock\nmock.patch('time.time')", "2 set time.time ?"),
    ("import builtins\nbuiltins.print = f", "2 set builtins.print ?"),
    ("import sys\nsys._getframe(1).f_globals['x'] = 1", "2 set sys._getframe().f_globals.x 1"),
    ("import torch\ntorch.backends.cuda.matmul.allow_tf32 = True", "2 set torch.backends.cuda.matmul.allow_tf32 True"),
    ("import os\nos.environ['A'] = 'b'", "2 set os.environ.A b"),
    # Options, and the encoding of the source.
    ("import torch\ntorch.compile(f, mode='reduce-overhead')", "2 option torch.compile(mode) reduce-overhead"),
    (
        "import torch\nk = {'mode': 'reduce-overhead'}\ntorch.compile(f, **k)",
        "3 option torch.compile(mode) reduce-overhead",
    ),
    ("# coding: latin-1\nx = 1", "1 note source.encoding latin-1"),
    ("import torch\ntorch.cuda.\uff33tream()", "2 note source.identifier Stream"),
    ("import torch\ntorch.cuda.\uff33tream()", "2 call torch.cuda.Stream"),
    # Code that never runs, in a file that the harness asks for one class.
    ("import torch\nclass ModelNew: ...\ndef debug():\n    torch.cuda.Stream()", "4 call torch.cuda.Stream  dead"),
    ("import torch\nif False:\n    torch.cuda.Stream()", "3 call torch.cuda.Stream  dead"),
    ("import torch\nif __name__ == '__main__':\n    torch.cuda.Stream()", "3 call torch.cuda.Stream  dead"),
    ("import torch\ndef f():\n    return 1\n    torch.cuda.Stream()", "4 call torch.cuda.Stream  dead"),
    (
        "import torch\nclass ModelNew:\n    x = globals()['de' + 'bug']()\ndef debug():\n    torch.cuda.Stream()",
        "5 call torch.cuda.Stream",
    ),
    (
        (
            "import torch\nclass ModelNew: ...\ndef bench():\n    torch.cuda.Stream()\n"
            "if __name__ == '__main__':\n    bench()"
        ),
        "4 call torch.cuda.Stream  dead",
    ),
    ("import torch\ndef debug():\n    torch.cuda.Stream()", "3 call torch.cuda.Stream"),
    # Code that only looks as if it never ran.
    (
        "import torch\n__name__ = '__main__'\nif __name__ == '__main__':\n    torch.cuda.Stream()",
        "4 call torch.cuda.Stream",
    ),
    ("import torch\nTYPE_CHECKING = True\nif TYPE_CHECKING:\n    torch.cuda.Stream()", "4 call torch.cuda.Stream"),
    ("import torch\nclass ModelNew: ...\ndef __getattr__(name):\n    torch.cuda.Stream()", "4 call torch.cuda.Stream"),
    (
        "import torch, new\nclass ModelNew: ...\ndef debug():\n    torch.cuda.Stream()\ngetattr(new, 'de' + 'bug')()",
        "4 call torch.cuda.Stream",
    ),
    (
        "import torch\nclass ModelNew: ...\ndef debug():\n    torch.cuda.Stream()\nnew.debug()",
        "4 call torch.cuda.Stream",
    ),
    # C++ in texts.
    ('load_inline(cuda_sources="cuda" "StreamCreate(&s);")', "1 code cudaStreamCreate(&s);\\n 1"),
    ("A = 'cudaStream'\nload_inline('x', '', A + 'Create(&s);')", "2 code cudaStreamCreate(&s);\\n 1"),
    ('X = """\n#include <x>\nvoid f();\n"""', "3 code void f();\\n 1"),
    ("n = f()\nload_inline(cuda_sources=f'cudaStream{n}Create(&s);')", "2 code cudaStream$Create(&s);\\n 1"),
    ("load_inline(cuda_sources=f())", "1 note source.computed load_inline"),
]

# Sources without a fact about making or changing streams.
FINE = [
    "# torch.cuda.Stream() is not used\nx = 1",
    '"""torch.cuda.Stream() is not used"""',
    "import torch\nprint('torch.cuda.Stream()')",
    "stream = []\nstream.append(1)",
    "class Stream:\n    ...\nStream()",
    "from streams_of_mine import Stream\nStream()",
    "import torch\ndef f(s: torch.cuda.Stream) -> torch.cuda.Stream:\n    s: torch.cuda.Stream = None\n    return s",
    "import torch\nisinstance(1, torch.cuda.Stream)",
    "import torch\nisinstance(1, (torch.cuda.Stream, torch.Stream))",
    "import torch\ntype(1) is torch.cuda.Stream",
    "import torch\ns = torch.cuda.current_stream()\nk[grid](x, stream=s.cuda_stream)",
    "import torch\nx.record_stream(torch.cuda.current_stream())",
    "import torch\ntorch.cuda.default_stream().synchronize()",
    "def stream_k(x): return x\nstream_k(1)",
    "import io\nio.StringIO()",
    "def stream(x): return x\nstream(1)",
    "import torch\nclass Stream:\n    def stream(self): ...\ns = Stream()\ns.stream()",
    "import torch\nnames = ['float32', 'half']\n[getattr(torch, n) for n in names]",
    "raise RuntimeError('cudaStreamCreate() failed; use the current stream')",
]

MADE = (
    "import importlib.util, sys\n{}\n"
    "s = importlib.util.spec_from_file_location({}, 'f.py')\nm = importlib.util.module_from_spec(s)\n"
)
# Names of a module that is made, keys with which it is registered, and the fact of that.
REGISTERED = (
    ("", "'_parts'", "'_parts'", "_parts importlib.util.module_from_spec()"),
    ("N = '_parts'", "N", "N", "_parts importlib.util.module_from_spec()"),
    ("", "'my.parts'", "s.name", "my.parts importlib.util.module_from_spec()"),
    ("", "'_parts'", "m.__name__", "_parts importlib.util.module_from_spec()"),
    ("n = f'_parts_{h()}'", "n", "n", "_parts_? importlib.util.module_from_spec()"),
    ("n = '_parts_' + h()", "n", "s.name", "_parts_? importlib.util.module_from_spec()"),
    ("", "'time'", "'time'", "time ?"),
    ("", "'time'", "s.name", "time ?"),
    ("", "'torch.kernels'", "m.__name__", "torch.kernels ?"),
    ("n = f'ti{h()}'", "n", "n", "ti? ?"),
    ("n = h()", "n", "n", "? ?"),
    ("n = '_parts'\nn = h()", "n", "n", "? ?"),
    ("", "h()", "s.name", "? ?"),
)

STREAMY = (
    "torch.cuda.Stream",
    "torch.cuda.stream",
    "torch.cuda.ExternalStream",
    "torch.cuda.set_stream",
    "torch.cuda.graph",
)


def tangle(n: int) -> str:
    """Returns a source in which each name leads through two others, so that there are 2^n ways through n names."""
    return "\n".join(f"v{i} = v{i + 1}.z or v{i + 2}.z" for i in range(n)) + "\nv0()"


def facts(source: str) -> list[str]:
    return [line.replace("\t", " ") for line in facts_of(source.encode(), "x.py").splitlines()[1:]]


class AstFacts(unittest.TestCase):
    def test_names_are_followed(self) -> None:
        for source, fact in FOLLOWED:
            with self.subTest(source):
                self.assertIn(fact, facts(source))

    def test_what_is_fine_says_nothing_of_streams(self) -> None:
        for source in FINE:
            with self.subTest(source):
                self.assertEqual([fact for fact in facts(source) if fact.split()[2] in STREAMY], [])

    def test_a_sentence_about_cuda_is_no_code(self) -> None:
        for source in (
            '"""Never calls cudaStreamCreate(&s); see __global__ void f() {}"""',
            (
                "raise RuntimeError('cudaStreamCreate(&s) failed; use the current stream: "
                "torch.cuda.Stream() is not allowed')"
            ),
            "def f():\n    '#include <x>; cudaStreamCreate(&s);'",
        ):
            with self.subTest(source):
                self.assertEqual([fact for fact in facts(source) if " code " in fact], [])

    def test_a_new_module_is_told_from_one_in_the_place_of_another(self) -> None:
        for head, name, key, fact in REGISTERED:
            source = MADE.format(head, name) + f"sys.modules[{key}] = m"
            with self.subTest(source):
                self.assertIn(f"{source.count(chr(10)) + 1} set sys.modules.{fact}", facts(source))
        for value in (
            "time",
            "torch.cuda",
            "sys.modules['math']",
            "h()",
            "types.ModuleType('x') if y else time",
            "'types.ModuleType()'",
        ):
            source = f"import sys, time, types, torch\nsys.modules['_parts'] = {value}"
            with self.subTest(source):
                self.assertIn("2 set sys.modules._parts ?", facts(source))
        source = "import sys, types\ndef put(n):\n    sys.modules[n] = types.ModuleType(n)\nput('_parts')\nput('time')"
        self.assertIn("3 set sys.modules._parts types.ModuleType()", facts(source))
        self.assertIn("3 set sys.modules.time ?", facts(source))

    def test_facts_belong_to_their_file(self) -> None:
        self.assertEqual(facts_of(b"f()", "a b.py"), "file\ta b.py\t2\n1\tcall\tf\n")

    def test_odd_bytes_never_reach_the_facts(self) -> None:
        text = facts_of("import t\nt.größe()\ngetattr(t, 'a\\tb\\n')()".encode(), "ü.py")
        self.assertEqual(text, "file\t?.py\t2\n1\timport\tt\n2\tcall\tt.gr??e\n3\tcall\tgetattr\tt\n3\tcall\tt.a?b?\n")

    def test_a_long_name_is_cut(self) -> None:
        self.assertLess(max(map(len, facts(f"{'x' * 5000}()"))), 500)

    def test_names_that_go_in_circles_end(self) -> None:
        facts("a = b\nb = a\na()\nx = x.y\nx()")

    def test_what_nobody_would_write_is_refused_in_words(self) -> None:
        for source in (tangle(1000), f"x{'.a' * 5000}()", "(" * 500 + ")" * 500):
            with self.assertRaises((SyntaxError, ValueError)):
                facts(source)

    def test_what_is_tangled_a_little_takes_no_time(self) -> None:
        start = time.process_time()
        facts(tangle(60))
        # Following each of the 2^60 ways would take centuries.
        self.assertLess(time.process_time() - start, 30)

    def test_what_is_no_source_is_a_syntax_error(self) -> None:
        for source in (b"x = (", b"\xff\xfe", b"a\x00b"):
            with self.assertRaises((SyntaxError, ValueError)):
                facts_of(source, "x.py")


if __name__ == "__main__":
    unittest.main()
