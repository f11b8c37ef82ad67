"""What arguments and results of a model may be besides tensors, and how they travel between children."""
