"""The objects whose code is running now: the one called first, then the one it called, and so on."""

from collections.abc import Callable
from typing import Any

from melee import log, shape
from melee.errors import Deadlock, ObjectCallError, ShapeError, TransactionOpen, described
from melee.objects.commit import Outcome
from melee.objects.loaded import LoadedObject
from melee.objects.request import Call, Request, ref_of


class Running:
    """A chain that grows while one object calls another."""

    def __init__(self) -> None:
        self._chain: list[LoadedObject] = []

    def __contains__(self, loaded: LoadedObject) -> bool:
        return loaded in self._chain

    @property
    def caller(self) -> LoadedObject | None:
        """The object whose code is running; None when the next call comes from outside."""
        return self._chain[-1] if self._chain else None

    def check_may_ask(self, request: Request) -> None:
        """Refuses what the running object must not ask for: a call that would wait for itself, or anything at all from
        inside a transaction, whose writes cannot be on disk before it leaves."""
        ref, chain = ref_of(request), [loaded.ref for loaded in self._chain]
        if isinstance(request, Call) and ref in chain:
            raise Deadlock(str(ref), request.method, [str(each) for each in (*chain, ref)])
        if self.caller and self.caller.connection.transactions_open:
            raise TransactionOpen(str(self.caller.ref), f"{ref}.{request.method}")

    def perform(self, loaded: LoadedObject, method: str, run: Callable[[], Any]) -> Outcome:
        """Runs code of an object; whatever happens becomes an outcome, but for Ctrl-C."""
        name = str(loaded.ref)
        self._chain.append(loaded)
        try:
            value = run()
        except KeyboardInterrupt:
            raise
        except Deadlock as error:
            return error
        except BaseException as error:  # noqa: BLE001 - a method that raises SystemExit must not end the worker
            log.call_failed(name, method, error)
            raised = ObjectCallError(name, method, type(error).__name__, *described(error))
            raised.__cause__ = error
            return raised
        finally:
            self._chain.pop()
        try:
            return shape.encode(value, f"{loaded.ref.class_name}.{method} result")
        except ShapeError as error:
            return error
