"""The Python that runs in a worker's own processes: the zygote, and the children that it forks.

The harness uses the standard library, torch, triton and numpy only. It reports facts; the judge and the guard, which
are C++, decide verdicts.

    zygote/       the process that forks every child, and its fork server
    sandbox/      the sandbox layers, control group, mount view and environment of a child
    children/     a child from its fork to its end; the commands of the judge
    backends/     how each kind of submission becomes a function to call
    kernels/      device code: the build child, CUDA and Triton compilation
    extensions/   load_inline and load of torch: tracing, compiling and loading extensions
    facts/        what a Python source does, read without running it
    profiling/    the profile child, which runs a submission under ncu
"""
