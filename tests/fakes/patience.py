"""Hypothesis without a stopwatch: a busy machine must not fail a property."""

from hypothesis import HealthCheck, settings

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
