"""A forker forks children on demand, ends each with all that it started, and ends itself with whoever asks."""

import os
import re
import resource
import signal
import sys
from itertools import count
from pathlib import Path

import pytest

from melee import log
from melee.processes.control import Ended
from tests.melee.processes.forking import (
    Broken,
    children_of,
    descriptors_of,
    exit_code_of,
    forker,
    is_running,
    wait_for_end,
)

IGNORING = "leave_behind(ignoring=(signal.SIGTERM, signal.SIGHUP, signal.SIGINT))"


def test_each_child_that_is_asked_for_is_a_process_with_a_connection_of_its_own() -> None:
    with forker() as asking:
        asking.ask_for(3)
        children = [asking.forked() for _ in range(3)]
        assert [child.ask("os.getpid()") for child in children] == [child.pid for child in children]
        assert len({child.pid for child in children}) == 3
        assert {child.ask("os.getppid()") for child in children} == {asking.pid}
        assert {child.ask("os.getpgid(0) == os.getpid()") for child in children} == {True}


def test_a_child_that_returns_has_ended_with_0_and_is_reaped() -> None:
    with forker() as asking:
        child = asking.child()
        child.hang_up()
        assert asking.exit_code(child) == 0
        assert not Path(f"/proc/{child.pid}").exists()


@pytest.mark.parametrize(
    ("order", "exit_code"),
    [
        ("sys.exit()", 0),
        ("sys.exit(True)", 1),
        ("sys.exit(7)", 7),
        ("sys.exit(256)", 0),
        ("sys.exit(-1)", 255),
        ("sys.exit(2**70 + 3)", 3),
        ("os._exit(9)", 9),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("[os.close(1), os.close(2), sys.exit(3)]", 3),
        ("[sys.stdout.close(), sys.exit(3)]", 3),
        ("[setattr(sys, 'stdout', None), sys.exit(3)]", 3),
        ("[setattr(sys, 'stdout', Broken(RuntimeError)), sys.exit(3)]", 3),
        ("[setattr(sys, 'stdout', Broken(KeyboardInterrupt)), sys.exit(3)]", 3),
    ],
)
def test_the_exit_code_of_a_child_is_told(order: str, exit_code: int) -> None:
    with forker() as asking:
        child = asking.child()
        child.tell(order)
        assert asking.exit_code(child) == exit_code
        assert asking.child().ask("1 + 1") == 2


def test_a_child_that_raises_prints_its_traceback_and_ends_with_1(capfd: pytest.CaptureFixture[str]) -> None:
    with forker() as asking:
        child = asking.child()
        child.tell("1 / 0")
        assert asking.exit_code(child) == 1
    printed = capfd.readouterr().err
    assert printed.startswith("Traceback")
    assert printed.endswith("ZeroDivisionError: division by zero\n")


def test_an_output_that_cannot_be_written_does_not_end_the_forker() -> None:
    with forker(before=lambda: setattr(sys, "stdout", Broken(RuntimeError))) as asking:
        assert asking.child().ask("1 + 1") == 2


def test_a_child_that_ends_with_a_message_prints_it_and_ends_with_1(capfd: pytest.CaptureFixture[str]) -> None:
    with forker() as asking:
        child = asking.child()
        child.tell("sys.exit('that will not do')")
        assert asking.exit_code(child) == 1
    assert capfd.readouterr().err == "that will not do\n"


def test_what_was_printed_before_a_fork_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    def import_app() -> None:
        # As it is when it is no terminal.
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stdout.write("imported")

    with forker(before=import_app) as asking:
        for _ in range(3):
            child = asking.child()
            child.hang_up()
            asking.exit_code(child)
        asking.hang_up()
        assert exit_code_of(asking.pid) == 0
    assert capfd.readouterr().out == "imported"


@pytest.mark.parametrize("order", ["sys.exit()", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_a_child_leaves_behind_ends_with_it_though_it_ignores_every_signal_that_can_be(order: str) -> None:
    with forker() as asking:
        child = asking.child()
        left = child.ask(IGNORING)
        child.tell(order)
        asking.exit_code(child)
        wait_for_end(left)


def test_a_child_is_killed_with_all_that_it_started() -> None:
    with forker() as asking:
        child, other = asking.child(), asking.child()
        left = child.ask(IGNORING)
        child.tell("signal.pause()")
        asking.kill(child.pid)
        assert asking.exit_code(child) == -signal.SIGKILL
        wait_for_end(left)
        assert other.ask("1 + 1") == 2


def test_a_process_that_is_no_child_is_not_killed() -> None:
    with forker() as asking:
        child = asking.child()
        child.hang_up()
        asking.exit_code(child)
        stranger = asking.child()
        left = stranger.ask("leave_behind(in_own_session=True)")
        try:
            for other in (left, child.pid):
                asking.kill(other)
            # The forker hears one after the other.
            assert asking.child().ask("1 + 1") == 2
            assert is_running(left)
        finally:
            os.kill(left, signal.SIGKILL)


def test_nothing_that_ended_stays_a_zombie() -> None:
    with forker() as asking:
        child = asking.child()
        left = [child.ask("leave_behind()"), child.ask("leave_behind(in_own_session=True)")]
        child.tell("sys.exit()")
        asking.exit_code(child)
        # It is the forker's now, and not of whoever runs the container.
        assert left[1] in children_of(asking.pid)
        os.kill(left[1], signal.SIGKILL)
        wait_for_end(*left)
        # It reaps before it forks.
        last = asking.child()
        assert children_of(asking.pid) == [last.pid]


def test_children_hold_nothing_of_their_forker_nor_of_each_other() -> None:
    inherited = _sockets(os.getpid())
    with forker() as asking:
        children = [asking.child() for _ in range(3)]
        for child in children:
            child.ask("1")
            sockets = _sockets(child.pid) - inherited
            assert len(sockets) == 1, descriptors_of(child.pid)
            assert not any("eventpoll" in held for held in descriptors_of(child.pid).values())
            assert not sockets & _sockets(asking.pid)


@pytest.mark.slow
def test_a_burst_of_children_comes_whole() -> None:
    with forker() as asking:
        for _ in range(5):
            asking.ask_for(20)
        children = [asking.forked() for _ in range(100)]
        assert [child.ask("os.getpid()") for child in children] == [child.pid for child in children]
        for child in children:
            child.hang_up()
        ended = [asking.next(Ended) for _ in children]
        assert {(child.pid, child.exit_code) for child in ended} == {(child.pid, 0) for child in children}
        assert children_of(asking.pid) == []


def test_a_fork_for_which_there_is_no_room_is_tried_again() -> None:
    reading, writing = os.pipe()
    lines, stream = os.fdopen(reading), os.fdopen(writing, "w")
    with lines, stream, forker(before=lambda: log.to_lines(stream)) as asking:
        held = descriptors_of(asking.pid)
        was = _room_for_descriptors(asking.pid, next(number for number in count() if number not in held))
        asking.ask_for(2)
        assert lines.readline().startswith("error: no process can be forked; tried again in a moment")
        _room_for_descriptors(asking.pid, was)
        assert [asking.forked().ask("1 + 1") for _ in range(2)] == [2, 2]


@pytest.mark.parametrize("how", ["hang up", "SIGTERM"])
def test_a_forker_ends_in_order_and_all_that_it_started_with_it(how: str) -> None:
    with forker() as asking:
        children = [asking.child(), asking.child()]
        left = children[0].ask(IGNORING)
        children[1].tell("signal.pause()")
        if how == "hang up":
            asking.hang_up()
        else:
            os.kill(asking.pid, signal.SIGTERM)
        assert exit_code_of(asking.pid) == 0
        # It has waited for its children, and reaped them.
        assert not any(Path(f"/proc/{child.pid}").exists() for child in children)
        wait_for_end(left)


def test_children_end_when_their_forker_is_killed() -> None:
    with forker() as asking:
        children = [asking.child(), asking.child()]
        children[0].tell("signal.pause()")
        os.kill(asking.pid, signal.SIGKILL)
        wait_for_end(*(child.pid for child in children))


def test_children_take_no_notice_of_what_their_forker_did_with_signals() -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with forker(before=ignore) as asking:
        handlers = "[signal.getsignal(n) is signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]"
        assert asking.child().ask(handlers) == [True, True, True]
        assert asking.child().ask("signal.set_wakeup_fd(-1)") == -1


def test_what_is_random_differs_from_child_to_child() -> None:
    with forker() as asking:
        drawn = "[__import__('random').random(), str(__import__('uuid').uuid4()), __import__('secrets').token_hex()]"
        one, other = asking.child().ask(drawn), asking.child().ask(drawn)
        assert not {str(value) for value in one} & {str(value) for value in other}


def _sockets(pid: int) -> set[str]:
    return {held for held in descriptors_of(pid).values() if re.match("socket:", held)}


def _room_for_descriptors(pid: int, at_most: int | None = None) -> int:
    """Sets how high the numbers of its descriptors may be, by default as high as is allowed; returns what it was."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard if at_most is None else at_most, hard))
    return soft
