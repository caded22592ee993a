"""`Durable`, the class that users derive from, and what its classes can do: `get`, `list`, `count`, `destroy`."""

import builtins
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from melee import log, shape
from melee.errors import DefinitionError
from melee.objects.handles import Handle, handle_class
from melee.objects.record import Record
from melee.objects.request import Count, Destroy, ListIds, ObjectRef, ask, check_id
from melee.objects.spec import ClassSpec, read_spec
from melee.objects.storage import Storage
from melee.objects.timer import due_moment

_Object = TypeVar("_Object")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _ClassSide(Generic[_Function]):
    """A method of the class that no method of its objects can hide: Python prefers a data descriptor of the metaclass
    to what the class itself defines, so that `Stats.count()` stays ours when `Stats` defines its own `count`."""

    def __init__(self, function: _Function) -> None:
        self._function = function

    def __get__(self, cls: Any, metaclass: Any = None) -> Any:
        return self if cls is None else self._function.__get__(cls, metaclass)

    def __set__(self, cls: type, _value: Any) -> None:
        name = self._function.__name__
        raise DefinitionError(f"{cls.__name__}.{name}", "the class side of a durable object cannot be replaced")


if TYPE_CHECKING:

    def _class_side(function: _Function) -> _Function: ...

else:
    _class_side = _ClassSide


class DurableClass(type):
    """The type of `Durable` and of the classes derived from it."""

    _melee_spec: ClassSpec
    _melee_handle: type[Handle]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if not any(isinstance(base, DurableClass) for base in bases):
            return
        cls._melee_spec = read_spec(cls, Durable)
        cls._melee_handle = handle_class(cls.spec)

    def __call__(cls, *_arguments: Any, **_named: Any) -> Any:
        raise DefinitionError(f"{cls.__name__}(…)", f'objects are not made by hand; call {cls.__name__}.get("some id")')

    @property
    def spec(cls) -> ClassSpec:
        """What the class offers to callers."""
        return cls._melee_spec

    @_class_side
    def get(cls: "type[_Object]", id: str) -> "_Object":
        """A handle, which stands for the object with this id (any text from 1 to 1,024 characters).

        Its first call makes the object. To a type checker the handle is the object itself.

        Raises:
            ShapeError: the id cannot be one.
        """
        durable: Any = cls
        handle: _Object = durable._melee_handle(ObjectRef(cls.__name__, check_id(cls.__name__, id)))
        return handle

    @_class_side
    def list(cls) -> builtins.list[str]:
        """The ids of all objects of this class, in order. Raises what a call may raise, such as `ObjectUnavailable`."""
        ids: builtins.list[str] = shape.decode(ask(ListIds(cls.__name__)))
        return ids

    @_class_side
    def count(cls) -> int:
        """How many objects of this class exist. Raises what `list` may raise."""
        return int(shape.decode(ask(Count(cls.__name__))))

    @_class_side
    def destroy(cls, id: str) -> bool:
        """Ends the object: its timer, its data, its file. Returns whether there was one.

        Inside the object's own method it takes effect when the call ends.

        Raises:
            ShapeError: the id cannot be one.
            ObjectError: what became of the request, as with a call.
            TransactionOpen: an object asked for it inside a transaction.
            NoOwner: this process belongs to no running app.
        """
        return bool(shape.decode(ask(Destroy(cls.__name__, check_id(cls.__name__, id)))))


class Durable(metaclass=DurableClass):
    """An object that has a name, outlives every process, and owns a SQLite database and a timer.

    Derive from it and write methods. Each public method can be called from anywhere in the app through a handle,
    `Stats.get("visits").hit()`, one call at a time. Arguments are positional; arguments and results are JSON-shaped.

    Two methods are called by melee, if you define them: `setup`, once in the object's life, in the commit that creates
    it; and `on_timer`, when the timer is due.

    Attributes on `self` are a cache: they are gone when the object is unloaded. What must last goes into `storage`.
    """

    id: str
    """The text in `Stats.get("visits")`."""

    storage: Storage
    """This object's own database."""

    log: log.Logger
    """A logger whose lines carry the object's name."""

    _melee_record: Record

    def setup(self) -> None:
        """Runs once in the object's life, in the commit that creates it. If it raises, there is no object."""

    def timer(self, after: float | None = None, at: float | datetime | None = None) -> None:
        """Sets the one timer of this object, in place of the one that is pending.

        The timer commits and rolls back with the data. It never fires early, it fires once however late it is, and
        again when the worker was killed before `on_timer` ended.

        Args:
            after: seconds from now, 0 or more.
            at: a moment, as epoch seconds or an aware `datetime`. One in the past is due at once.

        Raises:
            TimerError: both or neither, a naive `datetime`, NaN, a negative delay, or a moment out of reach.
            DefinitionError: the class has no `on_timer`.
        """
        if not hasattr(self, "on_timer"):
            name = type(self).__name__
            raise DefinitionError(f"{name}.timer", f"{name} has no on_timer for it to call; define one")
        self._melee_record.set_timer(due_moment(after, at, self._melee_record.clock.now()))

    def cancel_timer(self) -> None:
        """Clears the timer. Harmless when there is none."""
        self._melee_record.set_timer(None)


def bind(cls: type[Durable], id: str, storage: Storage, record: Record) -> Durable:
    """A new instance for a loaded object, before the class's own `__init__` has run."""
    instance = cls.__new__(cls)
    instance.id, instance.storage, instance._melee_record = id, storage, record
    instance.log = log.of_object(str(ObjectRef(cls.__name__, id)))
    return instance
