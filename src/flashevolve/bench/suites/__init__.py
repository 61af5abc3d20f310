"""The suites of `flashevolve bench`, one module each."""
