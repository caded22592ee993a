"""What serves an app is killed again and again while visitors come."""

from functools import partial
from pathlib import Path

import pytest

from tests.melee.server.conftest import WriteApp
from tests.melee.server.load import Load
from tests.melee.server.served import ServerUnderTest
from tests.melee.server.served_app import write_app

pytestmark = pytest.mark.slow


@pytest.fixture
def app(tmp_path: Path) -> WriteApp:
    return partial(write_app, tmp_path / "app")


# The server, its object worker, its request parent, and for each of four slots one child that serves, one that waits
# and one that has not quite ended.
PROCESSES_AT_MOST = 1 + 1 + 1 + 3 * 4


def test_what_a_visitor_was_told_is_there_after_many_deaths_of_the_object_worker(app: WriteApp) -> None:
    with ServerUnderTest(app()) as server, Load(server, clients=16) as load:
        load.wait_for(100)
        kilobytes = server.kilobytes()
        for _ in range(6):
            server.kill("melee.objects")
            load.wait_for(40)
            assert len(server.processes()) <= PROCESSES_AT_MOST
        load.end()
        assert server.kilobytes() <= 1.1 * kilobytes
        assert {answer.body for answer in load.failed} <= {"OutcomeUnknown", "ObjectUnavailable"}
        unknown = sum(answer.body == "OutcomeUnknown" for answer in load.failed)
        confirmed = len(load.answers) - len(load.failed)
        assert confirmed <= int(server.ask("ask/a/count").body) <= confirmed + unknown


def test_requests_are_served_again_after_many_deaths_of_the_request_parent(app: WriteApp) -> None:
    with ServerUnderTest(app()) as server, Load(server, clients=16) as load:
        load.wait_for(100)
        kilobytes = server.kilobytes()
        for _ in range(4):
            server.kill("melee.web")
            load.wait_for(40)
            assert len(server.processes()) <= PROCESSES_AT_MOST
        load.end()
        assert server.kilobytes() <= 1.1 * kilobytes
        # Those that were being served are lost, and who else waited was not harmed.
        assert {answer.status: answer.body for answer in load.failed if answer.status != 502} == {}
        assert len(load.failed) <= 4 * 4
        confirmed = len(load.answers) - len(load.failed)
        assert confirmed <= int(server.ask("ask/a/count").body) <= len(load.answers)
