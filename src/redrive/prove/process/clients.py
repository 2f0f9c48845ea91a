"""The handler's boto3 clients, made once: modules are imported for each run, and a client takes longer than a run.

A client keeps no state of its calls, so an earlier run's client can be reused. Event handlers that a module registers
on its client are registered again with each run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

import boto3
import botocore.session
from boto3.resources.factory import ResourceFactory
from boto3.session import Session
from boto3.utils import ServiceContext
from botocore.config import Config

from redrive.prove.process.imports import taken_over
from redrive.prove.process.sessions import known_loader, quick_sessions
from redrive.prove.process.surroundings import replaced


@contextmanager
def remembered_clients() -> Iterator[None]:
    """While entered, a session returns the same client or resource for the same arguments."""
    made: dict[tuple[str, ...], object] = {}

    def remembering(kind: str) -> object:
        original = getattr(Session, kind)

        def make(session: Session, *args: object, **kwargs: object) -> object:
            if _is_async(session):
                return original(session, *args, **kwargs)
            key = (kind, str(session.region_name), str(session.profile_name), *_texts(args, kwargs))
            if key not in made:
                made[key] = original(session, *args, **kwargs)
            return made[key]

        return make

    with contextlib.ExitStack() as stack:
        session = botocore.session.get_session()
        session.register_component("data_loader", known_loader())
        stack.enter_context(quick_sessions())
        stack.enter_context(replaced(boto3, "DEFAULT_SESSION", Session(botocore_session=session)))
        stack.enter_context(replaced(Session, "client", remembering("client")))
        stack.enter_context(replaced(Session, "resource", remembering("resource")))
        stack.enter_context(replaced(ResourceFactory, "load_from_definition", _remembering_classes()))
        stack.enter_context(taken_over({"aiobotocore.session": _remembered_async_clients}))
        yield


def _is_async(session: Session) -> bool:
    """Whether it is a session of aioboto3, which gives a client to each `async with`."""
    return any(kind.__module__.partition(".")[0] == "aioboto3" for kind in type(session).__mro__)


@contextmanager
def _remembered_async_clients(module: ModuleType) -> Iterator[None]:
    """While entered, a session of aiobotocore makes a client once for the same arguments."""
    kind = module.AioSession
    original = kind._create_client  # noqa: SLF001 - it is awaited by what `create_client` returns.
    made: dict[tuple[str, ...], object] = {}

    async def create(session: botocore.session.Session, *args: object, **kwargs: object) -> object:
        region, profile = session.get_config_variable("region"), session.get_config_variable("profile")
        key = (str(region), str(profile), *_texts(args, kwargs))
        if key not in made:
            made[key] = await original(session, *args, **kwargs)
        return made[key]

    with replaced(kind, "_create_client", create):
        yield


def _remembering_classes() -> Callable[[ResourceFactory, str, object, ServiceContext], type]:
    """Makes the classes of resources: `dynamodb.Table("orders")` makes its class anew each time, for the same class."""
    original = ResourceFactory.load_from_definition
    made: dict[tuple[int, str, str], tuple[ResourceFactory, type]] = {}

    def load(
        factory: ResourceFactory, resource_name: str, single_resource_json_definition: object,
        service_context: ServiceContext,
    ) -> type:  # fmt: skip
        key = (id(factory), resource_name, str(service_context.service_name))
        if key not in made:  # The factory is kept, so that its identity stays its own.
            resource = original(factory, resource_name, single_resource_json_definition, service_context)
            made[key] = factory, resource
        return made[key][1]

    return load


def _texts(args: Iterable[object], kwargs: Mapping[str, object]) -> Iterator[str]:
    yield from map(_text, args)
    yield from (f"{name}={_text(value)}" for name, value in sorted(kwargs.items()))


def _text(value: object) -> str:
    return repr(sorted(vars(value).items(), key=str)) if isinstance(value, Config) else repr(value)
