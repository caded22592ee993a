"""What a request says about its client, and who is believed."""

import json

import pytest

from tests.melee.server.conftest import WriteApp
from tests.melee.server.served import ServerUnderTest

pytestmark = pytest.mark.slow

TRUSTED = '[server]\ntrusted_proxies = ["127.0.0.1"]'
FORWARDED = {"Host": "board.example.org", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


@pytest.mark.parametrize(
    ("config", "client", "scheme"),
    [
        (TRUSTED, "203.0.113.9", "https"),
        ("", "127.0.0.1", "http"),
        ('[server]\ntrusted_proxies = ["10.0.0.0/8"]', "127.0.0.1", "http"),
    ],
)
def test_the_app_and_the_log_see_the_client_that_a_trusted_proxy_names_and_nobody_else(
    app: WriteApp, config: str, client: str, scheme: str
) -> None:
    with ServerUnderTest(app(config)) as server, server.asked("client", **FORWARDED) as connection:
        seen = connection.getresponse().read().decode()
        assert seen == f"{client} {scheme} {scheme}://board.example.org/"
        assert json.loads(server.wait_for('"path": "/client"'))["client"] == client


def test_of_many_proxies_the_last_one_that_is_not_trusted_is_the_client(app: WriteApp) -> None:
    forwarded = FORWARDED | {"X-Forwarded-For": "192.0.2.1, 203.0.113.9"}
    with ServerUnderTest(app(TRUSTED)) as server, server.asked("client", **forwarded) as connection:
        assert connection.getresponse().read().decode().startswith("203.0.113.9 ")
