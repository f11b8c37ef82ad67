"""What a Python source does, found without running it; the guard judges these facts. Standard library only."""
