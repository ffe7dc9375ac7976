"""``python -m fim_private``: the command line."""

from fim_private.cli import main

main()
