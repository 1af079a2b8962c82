"""What a structure costs: pure functions from a structure to exact numbers."""
