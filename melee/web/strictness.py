"""`StrictProtocol`: refuses or ignores what llhttp lets pass and a WSGI app would take for something else."""

import httptools

from melee.web.refusals import Refused, RefusingProtocol, Stage


class StrictProtocol(RefusingProtocol):
    """Requests arrive with just the headers of their head, and in a shape that allows one reading."""

    def feed(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                after_head: int = upgrade.args[0]
            rest = rest[after_head:]
            self._read_again_without_upgrade()

    def on_header(self, name: bytes, value: bytes) -> None:
        # In the variables of WSGI `_` is `-`, so that one could pose as the other. A trailer would be a header there.
        if self.stage is Stage.HEAD and b"_" not in name:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._wants_upgrade():
            self._refuse_what_has_two_readings()
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self._wants_upgrade():
            super().on_message_complete()

    def _wants_upgrade(self) -> bool:
        # To llhttp CONNECT is one as well.
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _read_again_without_upgrade(self) -> None:
        """Gives the head to the parser once more, without the wish for another protocol, which a server may ignore.

        llhttp believes that after such a head the other protocol begins; it would read the body as the next request.
        """
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))

    def _refuse_what_has_two_readings(self) -> None:
        """See RFC 9112, 2.3 (version), 3.2 (host) and 6.1 (transfer coding), and RFC 9110, 9.3.6 (CONNECT)."""
        version, method = self.parser.get_http_version(), self.parser.get_method()
        hosts = sum(name == b"host" for name, _value in self.headers)
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        if method == b"CONNECT" or version not in ("1.0", "1.1"):
            raise Refused(400)
        if hosts > 1 or (hosts == 0 and version == "1.1"):
            raise Refused(400)
        if codings not in ([], [b"chunked"]):
            raise Refused(400)
