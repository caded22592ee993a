"""What a proof answers with: evidence, or the reason there is none."""


class NotProvenError(Exception):
    """Nothing shows the block to be true.

    `reason` says what is wrong, and what to do about it, in one line; `index` is the line of the block it is about,
    counted from 0, or None for the whole block.
    """

    def __init__(self, reason: str, index: int | None = None) -> None:
        self.reason = reason
        self.index = index
        super().__init__(reason)


def line_ranges(lines: set[int]) -> str:
    """`{3, 7, 8}` as `line 3, 7-8`, for messages."""
    groups: list[list[int]] = []
    for line in sorted(lines):
        if groups and line == groups[-1][-1] + 1:
            groups[-1].append(line)
        else:
            groups.append([line])
    return "line " + ", ".join(f"{group[0]}-{group[-1]}" if len(group) > 1 else str(group[0]) for group in groups)
