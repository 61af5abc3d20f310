"""PxN: GEPA with several proposals in one step, stage by stage together (gepa's parallel mode)."""
