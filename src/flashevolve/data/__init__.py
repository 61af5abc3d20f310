"""The user's data: loaders, splits and metrics."""
