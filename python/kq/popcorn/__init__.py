"""Problems in GPU MODE's form for programs that search for kernels, such as Autocomp: what they call, answered by kq.

    kq.popcorn.evaluate_code("reference-kernels/problems/bioml/trimul", [code])

returns a dict for each code, in order: {"correct", "latency", "stdout"}, with the latency in microseconds. The programs
of python -m kq.popcorn stand in for eval.py, popcorn-cli and KernelBench's run_and_check.py.
"""

from kq.popcorn.evaluation import Case, Outcome, evaluate, evaluate_code

__all__ = ["Case", "Outcome", "evaluate", "evaluate_code"]
