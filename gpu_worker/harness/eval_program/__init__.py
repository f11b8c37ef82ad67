"""Runs the problem's own program that calls, checks and times a submission, in GPU MODE's form (eval_child.py)."""
