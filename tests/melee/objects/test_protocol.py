"""What fits into a frame."""

import msgspec

from melee import shape
from melee.objects.protocol import payload_length, read_request, request_frame
from melee.objects.request import CHAIN_AT_MOST, ID_CHARACTERS_AT_MOST, Call


def test_the_largest_arguments_fit_with_the_longest_ids_of_the_longest_chain() -> None:
    # Of all characters these take the most bytes.
    id = "\0" * ID_CHARACTERS_AT_MOST
    arguments = b'["' + b"x" * (shape.BYTES_AT_MOST - 4) + b'"]'
    sent = Call("Stats", id, "hit", msgspec.Raw(arguments), chain=(f"Stats/{id}",) * CHAIN_AT_MOST)
    frame = request_frame(sent)
    assert payload_length(frame) == len(frame) - 4
    assert read_request(frame[4:]) == sent
