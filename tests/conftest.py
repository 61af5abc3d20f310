"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says nothing about whether it is right, and machines are busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
