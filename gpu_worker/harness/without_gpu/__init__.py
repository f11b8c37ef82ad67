"""What a machine without a GPU can say of kernels, and what it cannot."""
