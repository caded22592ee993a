"""Floor 7: the command line, one file a command. Runs in the developer's terminal; `melee dev` serves from there."""
