"""GEPA (Agrawal 2025): reflective prompt evolution with a per-example Pareto pool."""
