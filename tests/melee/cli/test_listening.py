"""How an address that is listened on is called: by what reaches it."""

from socket import create_connection
from urllib.parse import urlsplit

import pytest

from melee.cli.listening import listen, url_of


@pytest.mark.parametrize(
    ("host", "called"),
    [
        ("127.0.0.1", "http://127.0.0.1:{port}/"),
        ("::1", "http://[::1]:{port}/"),
        ("0.0.0.0", "http://localhost:{port}/ and every other IPv4 address of this machine"),
        ("::", "http://[::1]:{port}/ and every other IPv6 address of this machine"),
    ],
)
def test_the_address_that_is_said_is_one_that_answers(host: str, called: str) -> None:
    with listen(host, 0) as listener:
        port = listener.getsockname()[1]
        url = url_of(host, listener)
        assert url == called.format(port=port)
        create_connection((urlsplit(url.split()[0]).hostname, port), timeout=30).close()
