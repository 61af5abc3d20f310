"""`python -m flashevolve` is the command line."""

from flashevolve.cli.main import main

main()
