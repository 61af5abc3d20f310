"""Reading what a model wrote."""
