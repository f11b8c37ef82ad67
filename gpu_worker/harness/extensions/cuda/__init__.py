"""CUDA sources of extensions in two halves: how they are split, what the host half needs, and how they register."""
