"""`python -m flashevolve` is the command line."""

from flashevolve.cli.main import main

if __name__ == "__main__":
    main()
