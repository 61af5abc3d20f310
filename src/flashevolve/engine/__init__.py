"""The engine: runs any workflow as a stream of items through stages, durably and within budget."""
