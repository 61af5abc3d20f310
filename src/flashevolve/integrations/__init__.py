"""Integrations: what lets users of other optimizers change one import. Each needs its own extra."""
