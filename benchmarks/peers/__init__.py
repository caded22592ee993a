"""Durable jobs of melee and of others, all measured through the same few methods.

`python -m benchmarks.peers.NAME PLACE` runs the workers of a peer until it is told to stop; PLACE is the URL of its
database in Postgres, or a folder.
"""
