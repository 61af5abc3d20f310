"""Algorithms, one package each, that read like their papers and know nothing of concurrency."""
