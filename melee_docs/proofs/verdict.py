"""What a proof answers with: evidence, or the reason there is none."""


class NotProvenError(Exception):
    """Nothing shows the block to be true.

    `reason` says what is wrong, and what to do about it, in one line; `line` is the line of the page it is about, or 0
    for the whole block.
    """

    def __init__(self, reason: str, line: int = 0) -> None:
        self.reason = reason
        self.line = line
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
