"""Verifiable instruction following: constraints in a request, checkers for the answer."""
