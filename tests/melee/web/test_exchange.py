"""What gateway and child say is understood however it is cut into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from melee.web.exchange import (
    REQUEST_HEADER,
    FrameReader,
    Head,
    Kind,
    frame,
    head_frame,
    read_head,
    read_request,
    request_message,
)
from tests.melee.web.served import get

frames = st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=300)), max_size=8)


@given(frames, st.lists(st.integers(1, 100), min_size=1))
def test_frames_are_whole_however_they_arrive(sent: list[tuple[Kind, bytes]], cuts: list[int]) -> None:
    stream, reader, received = b"".join(frame(*one) for one in sent), FrameReader(), list[tuple[Kind, bytes]]()
    begin = turn = 0
    while begin < len(stream):
        size = cuts[turn % len(cuts)]
        received += reader.feed(stream[begin : begin + size])
        begin, turn = begin + size, turn + 1
    assert received == sent


@given(st.binary(), st.binary(), st.lists(st.tuples(st.binary(), st.binary())), st.binary())
def test_a_request_comes_as_it_was_sent(
    path: bytes, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    request = get(path, headers, query=query, body=body, body_bytes=len(body))
    message = request_message(request)
    assert REQUEST_HEADER.unpack(message[:4]) == (len(message) - 4,)
    assert read_request(message[4:]) == request


def test_a_head_comes_as_it_was_sent() -> None:
    head = Head(404, [(b"content-type", b"text/plain"), (b"x", b"\xff")])
    [(kind, payload)] = FrameReader().feed(head_frame(head))
    assert (kind, read_head(payload)) == (Kind.HEAD, head)
