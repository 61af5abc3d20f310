"""The gateway: an OpenAI-compatible endpoint on this machine for calls that we do not make.

User code that brings a client of its own (an agent, DSPy, a harness) sends its requests here, and
they go the way of all others: limiter, budget, ledger, journal.
"""
