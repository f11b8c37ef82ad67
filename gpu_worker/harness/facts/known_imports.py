"""Names that a kernel may use without an import: what people leave out where only the kernel counts.

They lie in a file's namespace before it runs, so that its own imports win and its lines keep their numbers. The guard reads a file with the
same names (ast_facts.py).
"""

import sys
from types import ModuleType

KNOWN = {
    "math": "math",
    "np": "numpy",
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "triton": "triton",
    "tl": "triton.language",
}


def provide(module: ModuleType) -> None:
    """Those that are there: the zygote has imported them all, where they are installed."""
    for name, path in KNOWN.items():
        if path in sys.modules:
            setattr(module, name, sys.modules[path])
