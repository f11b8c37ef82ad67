"""What runs inside a worker's Python processes: the zygote, and the children it forks.

Standard library, torch, triton and numpy only. It reports facts and decides nothing: verdicts are the judge's.
"""
