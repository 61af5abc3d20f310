"""Bench: comparisons that one command repeats, and what they are compared with."""
