"""Deciders. Pure: facts, a clock's reading and an rng in, decisions out."""
