"""Sessions whose clients are made with `async with`."""

from __future__ import annotations

import copy
from typing import Any

from botocore.hooks import EventAliaser
from botocore.session import Session

import aiobotocore.client
from aiobotocore.hooks import AioHierarchicalEmitter


class ClientCreatorContext:
    """A client, once it is entered."""

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine
        self._client: Any = None

    async def __aenter__(self) -> Any:
        self._client = await self._coroutine
        return await self._client.__aenter__()

    async def __aexit__(self, *raised: object) -> None:
        await self._client.__aexit__(*raised)


class AioSession(Session):  # type: ignore[misc] # botocore has no types.
    """A session."""

    def __init__(self, session_vars: Any = None) -> None:
        super().__init__(session_vars, AioHierarchicalEmitter())

    def create_client(self, *args: Any, **kwargs: Any) -> ClientCreatorContext:
        """A client, to be entered."""
        return ClientCreatorContext(self._create_client(*args, **kwargs))

    async def _create_client(self, *args: Any, **kwargs: Any) -> Any:
        made = Session().create_client(*args, **kwargs)  # The calls of the real one are awaited.
        kind = type(made)
        made.__class__ = type(kind.__name__, (aiobotocore.client.AioBaseClient,), dict(vars(kind)))
        made.meta.events = EventAliaser(copy.copy(self._original_handler))
        return made


def get_session() -> AioSession:
    """A new session."""
    return AioSession()
