"""BackendBench's operators on kq: judge kernels of operators by the calls of a suite.

    from kq.backendbench import eval_code

    scores = eval_code("smoke", None, {"relu.default": "def relu__default_kernel_impl(x): ..."}, gpu="H100")

`python -m kq.backendbench opinfo -o opinfo.txt` writes the calls of torch's OpInfo samples as a trace, which
`kq sweep KERNELS --suite opinfo --trace opinfo.txt` takes.
"""

from kq.backendbench.evaluation import OperatorResult, SuiteResult, eval_code
from kq.backendbench.suite import Call, calls_of

__all__ = ["Call", "OperatorResult", "SuiteResult", "calls_of", "eval_code"]
