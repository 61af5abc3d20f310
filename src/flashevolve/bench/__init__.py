"""Benchmarks, as shown by flashevolve bench."""
