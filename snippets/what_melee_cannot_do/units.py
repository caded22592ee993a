"""How a limit is written for a reader: number and unit stay on one line."""


def size(count: int) -> str:
    """Bytes, which are whole KiB, MiB or GiB."""
    for unit, length in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= length and count % length == 0:
            return f"{count // length}&nbsp;{unit}"
    raise ValueError(f"{count} bytes are no whole KiB")


def seconds(count: float) -> str:
    return f"{count:g}&nbsp;s"
