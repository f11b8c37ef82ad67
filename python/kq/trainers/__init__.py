"""Adapters of reinforcement learning frameworks, one module for each. docs/user/trainers.md shows how to use them.

`kq.trainers.trl` and `kq.trainers.verl` need no framework to be imported; `openenv`, `verifiers` and `nemo_gym` define
classes of their framework, which must be installed. In every adapter a failure of kq is an explicit infra error, and
never a reward.
"""
