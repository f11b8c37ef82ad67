"""What surrounds a child: its sandbox layers, control group, mount view, environment and memory watchdog."""
