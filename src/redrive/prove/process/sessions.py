"""The handler's boto3 sessions: new ones for each run, because a module may change its session, and made quickly.

A session of botocore registers some 140 event handlers, and inspects the signature of each: that takes longer than a
run. All sessions begin with the same handlers, and few of them ever tell an event to one, because clients are
remembered. So a session's handlers are copied from the first session's, when they are needed.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import botocore.hooks
import botocore.session
from botocore.compat import accepts_kwargs
from botocore.exceptions import DataNotFoundError
from botocore.hooks import EventAliaser, HierarchicalEmitter
from botocore.loaders import Loader, instance_cache

from redrive.prove.process.surroundings import replaced

_LATE = frozenset({"_handlers", "_lookup_cache", "_unique_id_handlers"})
"""The attributes of an emitter that are copied when they are needed."""
_EMITTERS = frozenset({("botocore.hooks", "HierarchicalEmitter"), ("aiobotocore.hooks", "AioHierarchicalEmitter")})
"""The kinds of emitters that sessions make for themselves."""


@contextmanager
def quick_sessions() -> Iterator[None]:
    """While entered, sessions of botocore share what each of them would make for itself, until they change it."""
    kind = botocore.session.Session
    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(kind, "_register_builtin_handlers", _copying_handlers()))
        stack.enter_context(replaced(kind, "_register_data_loader", _register_known_loader))
        stack.enter_context(replaced(botocore.hooks, "accepts_kwargs", _accepts_kwargs))
        yield


def _accepts_kwargs(handler: object) -> bool:
    """Whether an event handler takes keyword arguments: a resource registers the same ones each time it is made."""
    code = getattr(getattr(handler, "__func__", handler), "__code__", None)
    return bool(accepts_kwargs(handler)) if code is None else bool(code.co_flags & inspect.CO_VARKEYWORDS)


@functools.cache
def known_loader() -> Loader:
    """Reads botocore's models, once for all proofs of a process: they do not change."""
    loader = _QuickLoader()
    loader.__dict__.update(vars(botocore.session.get_session().get_component("data_loader")))
    return loader


class _QuickLoader(Loader):  # type: ignore[misc] # botocore has no types.
    """A loader that looks into one service's folder for its model: botocore's looks into those of all 400 services."""

    @instance_cache  # type: ignore[untyped-decorator] # As above.
    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> object:
        """The model of a service, as botocore loads it. Errors: UnknownServiceError, DataNotFoundError."""
        try:
            version = api_version or self.determine_latest_version(service_name, type_name)
        except DataNotFoundError:
            return super().load_service_model(service_name, type_name, api_version)  # It says which services there are.
        model = self.load_data(f"{service_name}/{version}/{type_name}")
        self._extras_processor.process(model, self._find_extras(service_name, type_name, version))
        return model


class _Register(Protocol):
    """Registers an event handler."""

    def __call__(self, event_name: str, handler: object, unique_id: object, unique_id_uses_count: bool) -> object: ...


class _LateEmitter(HierarchicalEmitter):  # type: ignore[misc] # botocore has no types.
    """An emitter with the handlers of another, which are copied when the first event is told or a handler removed."""

    def __init__(self, known: HierarchicalEmitter) -> None:
        self._known = known
        self._pending: list[tuple[_Register, tuple[str, object, object, bool]]] = []

    def __getattr__(self, name: str) -> object:
        if name not in _LATE:
            raise AttributeError(name)
        self.__dict__.update(vars(copy.copy(self._known)))
        pending, self._pending = self._pending, []
        for register, arguments in pending:
            self._registered(register, *arguments)
        return vars(self)[name]

    def _registered(
        self, register: _Register, event_name: str, handler: object, unique_id: object, unique_id_uses_count: bool
    ) -> None:  # fmt: skip
        register(event_name, handler, unique_id, unique_id_uses_count)

    def __copy__(self) -> HierarchicalEmitter:
        made = type(self._known)()
        state = {name: getattr(self, name) for name in _LATE}
        made.__dict__.update(state | {name: copy.copy(state[name]) for name in _LATE - {"_lookup_cache"}})
        return made

    def _verify_and_register(
        self, event_name: str, handler: object, unique_id: object, register_method: _Register,
        unique_id_uses_count: bool,
    ) -> None:  # fmt: skip
        if not callable(handler):
            raise ValueError(f"Event handler {handler} must be callable.")
        arguments = (event_name, handler, unique_id, unique_id_uses_count)
        if "_handlers" in vars(self):
            self._registered(register_method, *arguments)
        else:
            self._pending.append((register_method, arguments))


def _late_kind(kind: type[HierarchicalEmitter]) -> type[_LateEmitter]:
    """An emitter of this kind that is late: those of aiobotocore await handlers, and have some of their own."""
    if kind is HierarchicalEmitter:
        return _LateEmitter

    class LateEmitter(_LateEmitter, kind):  # type: ignore[misc] # botocore has no types.
        def _registered(
            self, register: _Register, event_name: str, handler: object, unique_id: object, unique_id_uses_count: bool
        ) -> None:  # fmt: skip
            kind._verify_and_register(self, event_name, handler, unique_id, register, unique_id_uses_count)  # noqa: SLF001

    return LateEmitter


def _copying_handlers() -> Callable[[botocore.session.Session, object], None]:
    """Registers the built-in event handlers of a session: those of the first session, also with all later ones."""
    original = vars(botocore.session.Session)["_register_builtin_handlers"]
    known: dict[type, tuple[HierarchicalEmitter, type[_LateEmitter]]] = {}
    aliases: dict[str, str] = {}

    def register(session: botocore.session.Session, events: object) -> None:
        state = vars(session)
        kind = type(state["_original_handler"])
        if (kind.__module__, kind.__name__) not in _EMITTERS:  # The session was given handlers of its own.
            original(session, events)
            return
        if kind not in known:
            original(session, events)
            known[kind] = copy.copy(state["_original_handler"]), _late_kind(kind)
            return
        first, late = known[kind]
        state["_original_handler"] = late(first)
        state["_events"] = EventAliaser(state["_original_handler"])
        vars(state["_events"])["_alias_name_cache"] = aliases  # The aliases of names are the same for all sessions.

    return register


def _register_known_loader(session: botocore.session.Session) -> None:
    """Give a session a loader with search paths of its own, which knows what `known_loader` has read."""

    def known() -> Loader:
        if session.get_config_variable("profile") is not None:
            session.get_config_variable("data_path")  # Of a profile that is not there the session itself fails.
        loader = copy.copy(known_loader())
        vars(loader)["_search_paths"] = list(loader.search_paths)
        return loader

    vars(session)["_components"].lazy_register_component("data_loader", known)
