"""The calls of load_inline and load in a submission: tracing them, compiling them and loading what was compiled."""
