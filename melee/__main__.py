"""`python -m melee`: the command line where its script is not on the path."""

from melee.cli.main import main

main(prog_name="melee")
