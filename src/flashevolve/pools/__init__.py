"""Pools: versioned sets of candidates. Pure: operations in, state out; no task, file or client."""
