"""The zygote: the warm Python process of a worker that forks every child, and the memory settings its forks inherit."""
