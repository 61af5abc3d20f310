"""The grammar of demands: one file per idea of how English speaks about the form of a text."""
