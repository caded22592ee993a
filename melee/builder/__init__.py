"""The build step: reads an app without running it, says what would not work, and writes `.melee/objects.py`. It runs in
the command `melee build`, and in a short process of its own when a server is told to reload."""
