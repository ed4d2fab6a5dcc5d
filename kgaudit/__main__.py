"""`python -m kgaudit`."""

from kgaudit.cli import main

main()
