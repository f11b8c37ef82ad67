"""The truth: what a reference computes in float64."""
