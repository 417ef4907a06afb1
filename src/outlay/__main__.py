"""`python -m outlay` is the command `outlay`."""

from outlay.cli import main

main()
