"""A whole file."""

# --8<-- [start:arm]
ARM = 1 < 2 & 3
# --8<-- [end:arm]


def last() -> str:
    return "<&>"
