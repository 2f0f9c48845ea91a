"""Clients whose calls are awaited."""

from __future__ import annotations

from typing import Any

from botocore.client import BaseClient

from aiobotocore.waiter import AIOWaiter, NormalizedOperationMethod


class AioBaseClient(BaseClient):  # type: ignore[misc] # botocore has no types.
    """A client that opens a session of HTTP when it is entered."""

    async def _make_api_call(self, operation_name: str, api_params: Any) -> Any:
        raise AssertionError(f"{operation_name} would be sent")

    def get_waiter(self, waiter_name: str) -> Any:
        """A waiter, whose operation is awaited."""
        made = super().get_waiter(waiter_name)
        operation = NormalizedOperationMethod(made._operation_method._client_method)  # noqa: SLF001
        return AIOWaiter(made.name, made.config, operation)

    async def __aenter__(self) -> Any:
        raise AssertionError("a session of HTTP would be opened")

    async def __aexit__(self, *_: object) -> None:
        raise AssertionError("a session of HTTP would be closed")

    async def close(self) -> None:
        """Close the session."""
        raise AssertionError("a session of HTTP would be closed")
