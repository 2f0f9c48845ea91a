"""Events whose handlers may be coroutines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from botocore.handlers import parse_get_bucket_location
from botocore.hooks import HierarchicalEmitter


async def parse_location(parsed: dict[str, Any], http_response: Any, **_: Any) -> None:
    """What GetBucketLocation answers is no plain XML."""
    text = (await http_response.content).decode()
    parsed["LocationConstraint"] = text.partition("</")[0].rpartition(">")[2] or None


_MAPPED: dict[Any, Any] = {parse_get_bucket_location: parse_location}


class AioHierarchicalEmitter(HierarchicalEmitter):  # type: ignore[misc] # botocore has no types.
    """Awaits the handlers."""

    async def _emit(self, event_name: str, kwargs: dict[str, Any], stop_on_response: bool = False) -> list[Any]:
        responses = []
        for handler in self._handlers.prefix_search(event_name):
            response = handler(**kwargs, event_name=event_name)
            responses.append((handler, await response if inspect.isawaitable(response) else response))
            if stop_on_response and responses[-1][1] is not None:
                break
        return responses

    async def emit_until_response(self, event_name: str, **kwargs: Any) -> Any:
        """The first answer."""
        responses = await self._emit(event_name, kwargs, stop_on_response=True)
        return responses[-1] if responses else (None, None)

    def _verify_and_register(
        self, event_name: str, handler: Any, unique_id: Any, register_method: Callable[..., Any],
        unique_id_uses_count: bool,
    ) -> None:  # fmt: skip
        register_method(event_name, _MAPPED.get(handler, handler), unique_id, unique_id_uses_count)
