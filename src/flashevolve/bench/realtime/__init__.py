"""Real time: clients that we did or did not write, over real HTTP, against one stated endpoint."""
