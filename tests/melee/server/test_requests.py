"""Requests as visitors send them: many at once, and some that do not end."""

import json
from concurrent.futures import as_completed
from contextlib import ExitStack
from itertools import islice

import pytest

from tests.melee.gate import Gate
from tests.melee.server.conftest import WriteApp
from tests.melee.server.served import RETRY_AFTER, Answer, ServerUnderTest, pid_of

pytestmark = pytest.mark.slow


def test_of_two_hundred_at_once_each_is_served_or_told_when_to_come_back(app: WriteApp, gate: Gate) -> None:
    with ServerUnderTest(app()) as server, ExitStack() as held:
        waiting = [server.begin_get(f"wait?gate={gate.path}") for _ in range(4)]
        for _ in waiting:
            held.enter_context(gate.reached())
        others = [server.begin_get("hit/a") for _ in range(196)]
        # By then 100 are in the queue.
        refused = [future.result() for future in islice(as_completed(others), 96)]
        held.close()
        answers = [future.result() for future in waiting + others]
    assert {(answer.status, answer.retry_after) for answer in refused} == {(503, RETRY_AFTER)}
    assert sum(answer.status == 503 for answer in answers) == 96
    counted = [int(answer.body) for answer in answers[4:] if answer.status == 200]
    assert sorted(counted) == [*range(1, 101)]


def test_requests_beyond_their_budget_end_with_all_that_they_started(app: WriteApp, gate: Gate) -> None:
    with ServerUnderTest(app("[web]\nbudget_seconds = 2")) as server, ExitStack() as held:
        hanging = [server.begin_get(f"hang?gate={gate.path}") for _ in range(4)]
        pids = {pid_of(held.enter_context(gate.reached())) for _ in range(8)}
        assert pids <= server.processes()
        assert [future.result().status for future in hanging] == [504] * 4
        # The kernel takes its time with those that nobody waits for.
        assert not server.left_after(pids)
        assert server.ask() == Answer(200, "version 1", None)


def test_a_file_of_the_app_does_not_pose_as_a_module_of_python(app: WriteApp) -> None:
    folder = app()
    for name in ("signal", "select", "queue"):
        (folder / f"{name}.py").write_text("raise ImportError('not this one')")
    with ServerUnderTest(folder) as server:
        assert server.ask("hit/a") == Answer(200, "1", None)


def test_what_an_object_logs_says_for_which_request_it_ran(app: WriteApp) -> None:
    with ServerUnderTest(app()) as server:
        with server.asked("ask/a/note") as visitor:
            request = visitor.getresponse().headers["X-Request-Id"]
        logged = json.loads(server.wait_for('"noted"'))
    assert (logged["object"], logged["request"]) == ("Counter/a", request)
