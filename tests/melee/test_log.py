"""What melee announces: a line a person can read, or a JSON object a collector can."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
import structlog

from melee import log


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def as_lines() -> StringIO:
    stream = StringIO()
    log.to_lines(stream)
    return stream


def as_json() -> StringIO:
    stream = StringIO()
    log.to_json(stream)
    return stream


def raised() -> Exception:
    try:
        raise ValueError("no such day")
    except ValueError as error:
        return error


def test_a_timer_that_fires_is_one_whole_line() -> None:
    stream = as_lines()
    log.timer_fired("Stats/visits")
    assert stream.getvalue() == "timer Stats/visits -> on_timer\n"


def test_fields_stand_behind_the_words() -> None:
    stream = as_lines()
    log.worker_listens("/srv/data/objects.sock", 7)
    assert stream.getvalue() == "object worker listens socket=/srv/data/objects.sock pid=7\n"


def test_an_error_names_its_level_and_shows_its_traceback_below() -> None:
    stream = as_lines()
    log.timer_failed("Stats/visits", raised(), has_set_another=False)
    first, *trace = stream.getvalue().splitlines()
    assert first == (
        "error: timer Stats/visits -> on_timer raised; it is not tried again error=ValueError: no such day"
    )
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[-1] == "ValueError: no such day"


def test_json_has_a_level_a_moment_and_the_fields() -> None:
    stream = as_json()
    log.call_failed("Stats/é", "hit", raised())
    line = json.loads(stream.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line.pop("traceback").startswith("Traceback")
    assert line == {"event": "call Stats/é.hit raised", "level": "warning", "error": "ValueError: no such day"}


def test_every_event_is_a_json_object_on_a_line_of_its_own() -> None:
    stream = as_json()
    log.registry_rebuilt(3)
    log.worker_stops("SIGTERM")
    log.frame_refused("bad\nbytes")
    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == ["warning", "info", "warning"]


def test_a_message_that_utf_8_cannot_encode_is_still_written(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    with path.open("w", encoding="utf-8") as stream:
        log.to_json(stream)
        log.call_failed("Stats/visits", "hit", ValueError("\ud800"))
        log.of_object("Stats/visits").info("\udfff")
    failed, logged = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert failed["error"] == r"ValueError: \ud800"
    assert logged["event"] == "\udfff"


def test_a_line_cannot_be_forged_nor_the_terminal_told_what_to_do() -> None:
    lines = as_lines()
    log.request_served("7", "127.0.0.1", "GET", "/a\nerror: forged\x1b[31m\u202e", 200, 0, 0)
    log.request_failed("GET", "/b\r\nforged", ValueError("c\x1b[2Jd"))
    assert lines.getvalue().splitlines() == [
        "request method=GET path=/a",
        r"    error: forged\x1b[31m\u202e status=200 ms=0 bytes=0 client=127.0.0.1 request=7",
        "error: GET /b",
        r"    forged raised error=ValueError: c\x1b[2Jd",
        r"ValueError: c\x1b[2Jd",
    ]


def test_what_the_encoding_of_the_terminal_does_not_know_is_still_written() -> None:
    terminal = TextIOWrapper(BytesIO(), encoding="ascii")
    log.to_lines(terminal)
    log.timer_fired("Stats/grün")
    assert terminal.buffer.getvalue() == b"timer Stats/gr\\xfcn -> on_timer\n"


def test_what_an_object_logs_carries_its_name() -> None:
    stream = as_json()
    log.of_object("Stats/visits").info("cleaned up", days=3)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["object"], line["days"]) == ("cleaned up", "Stats/visits", 3)


@pytest.mark.parametrize("given", [True, "the error"])
def test_an_exception_that_an_object_logs_keeps_its_traceback(given: object) -> None:
    stream = as_lines()
    logger = log.of_object("Stats/visits")
    try:
        raise ValueError("no such day")
    except ValueError as error:
        logger.error("gave up", exc_info=error if given == "the error" else True)
    assert "error: gave up object=Stats/visits error=ValueError: no such day\nTraceback" in stream.getvalue()
    assert "exc_info" not in stream.getvalue()


def test_debug_is_not_written() -> None:
    stream = as_lines()
    log.of_object("Stats/visits").debug("a detail")
    assert stream.getvalue() == ""


def test_lines_go_to_where_standard_output_goes_then(capsys: pytest.CaptureFixture[str]) -> None:
    log.to_lines()
    log.worker_stops("SIGTERM")
    assert capsys.readouterr().out == "object worker stops reason=SIGTERM\n"


def test_unasked_only_warnings_are_written_and_to_standard_error() -> None:
    code = "from melee import log; log.timer_fired('A/1'); log.registry_rebuilt(2)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr == "warning: the registry of objects was rebuilt from their files objects=2\n"


@pytest.mark.parametrize("reader", ["gone", "full"])
def test_what_cannot_be_written_is_lost_and_harms_nobody(reader: str) -> None:
    says = "from melee import log; log.to_lines(); [log.server_stops('SIGTERM') for _ in range(3)]"
    # Whatever is written there finds no space.
    output = os.open("/dev/full", os.O_WRONLY) if reader == "full" else _pipe_without_reader()
    try:
        ended = subprocess.run([sys.executable, "-c", says], stdout=output, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(output)
    assert "Traceback" not in ended.stderr
    if reader == "gone":
        assert (ended.returncode, ended.stderr) == (0, "")


def test_a_listener_is_given_each_level_and_text_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melee.log_output._listeners", [])
    stream, heard = as_json(), list[tuple[str, str]]()
    log.timer_fired("Stats/before")
    log.also_to(lambda level, text: heard.append((level, text)))
    log.timer_fired("Stats/visits")
    log.of_object("Stats/visits").debug("a detail")
    log.timer_failed("Stats/\x1b", raised(), has_set_another=False)
    assert heard[0] == ("info", "timer Stats/visits -> on_timer")
    assert heard[1][0] == "error"
    assert heard[1][1].startswith("error: timer Stats/\\x1b -> on_timer raised")
    assert heard[1][1].endswith("ValueError: no such day")
    assert len(heard) == 2
    assert len(stream.getvalue().splitlines()) == 3


def _pipe_without_reader() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def test_rich_is_imported_by_those_alone_who_use_it() -> None:
    source = "import sys, melee.log as log; print('rich' in sys.modules); import rich; print(log.structlog.dev.rich)"
    ran = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\nNone\n"


def test_rich_that_is_there_already_stays() -> None:
    source = "import sys, rich; before = rich; import melee.log; print(sys.modules['rich'] is before)"
    ran = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True)
    assert ran.stdout == "True\n"


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot speak")


def test_any_error_can_be_described_in_text_that_can_be_sent() -> None:
    assert log.described(ValueError("\ud800é")) == ("\\ud800é", "ValueError: \\ud800é\n")
    message, trace = log.described(_Mute())
    assert message == "<str() of this _Mute failed>"
    assert "_Mute" in trace
