"""The children of the zygote: how they start, wait for a job, and answer the judge's commands."""
