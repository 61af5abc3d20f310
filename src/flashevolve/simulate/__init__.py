"""A stated world to try things in: virtual time, a serving model and a reading model."""
