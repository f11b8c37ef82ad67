"""Names are followed as far as that goes without running anything, and no further."""

import unittest

from harness.ast_facts import facts_of

# A source, and the fact that must be among its facts.
FOLLOWED = [
    ("import torch\ntorch.cuda.Stream()", "2 call torch.cuda.Stream"),
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
    (
        "import torch\nclass M:\n    def __init__(self):\n        self.s = torch.cuda.Stream\n    def f(self):\n        self.s()",
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
]

# A source that says nothing about making or changing streams.
FINE = [
    "# torch.cuda.Stream() is not used\nx = 1",
    '"""torch.cuda.Stream() is not used"""',
    "import torch\nprint('torch.cuda.Stream()')",
    "stream = []\nstream.append(1)",
    "class Stream:\n    ...\nStream()",
    "from streams_of_mine import Stream\nStream()",
    "import torch\ndef f(s: torch.cuda.Stream) -> torch.cuda.Stream:\n    s: torch.cuda.Stream = None\n    return s",
    "import torch\nisinstance(1, torch.cuda.Stream)",
    "import torch\ntype(1) is torch.cuda.Stream",
    "import torch\ns = torch.cuda.current_stream()\nk[grid](x, stream=s.cuda_stream)",
    "import torch\nx.record_stream(torch.cuda.current_stream())",
    "import torch\ntorch.cuda.default_stream().synchronize()",
    "def stream_k(x): return x\nstream_k(1)",
    "import io\nio.StringIO()",
    "def stream(x): return x\nstream(1)",
]

STREAMY = (
    "torch.cuda.Stream",
    "torch.cuda.stream",
    "torch.cuda.ExternalStream",
    "torch.cuda.set_stream",
    "torch.cuda.graph",
)


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

    def test_facts_belong_to_their_file(self) -> None:
        self.assertEqual(facts_of(b"f()", "a b.py"), "file\ta b.py\n1\tcall\tf\n")

    def test_odd_bytes_never_reach_the_facts(self) -> None:
        text = facts_of("import t\nt.größe()\ngetattr(t, 'a\\tb\\n')()".encode(), "ü.py")
        self.assertEqual(text, "file\t?.py\n2\tcall\tt.gr??e\n3\tcall\tgetattr\tt\n3\tcall\tt.a?b?\n")

    def test_a_long_name_is_cut(self) -> None:
        self.assertLess(max(map(len, facts(f"{'x' * 5000}()"))), 500)

    def test_names_that_go_in_circles_end(self) -> None:
        facts("a = b\nb = a\na()\nx = x.y\nx()")

    def test_what_nobody_would_write_is_refused_in_words(self) -> None:
        tangle = "\n".join(f"v{i} = v{i + 1}.z or v{i + 2}.z" for i in range(60)) + "\nv0()"
        for source in (tangle, f"x{'.a' * 5000}()", "(" * 500 + ")" * 500):
            with self.assertRaises((SyntaxError, ValueError)):
                facts(source)

    def test_what_is_no_source_is_a_syntax_error(self) -> None:
        for source in (b"x = (", b"\xff\xfe", b"a\x00b"):
            with self.assertRaises((SyntaxError, ValueError)):
                facts_of(source, "x.py")


if __name__ == "__main__":
    unittest.main()
