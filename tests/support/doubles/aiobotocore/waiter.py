"""Waiters that are awaited."""

from __future__ import annotations

import asyncio
from typing import Any

from botocore.exceptions import ClientError, WaiterError
from botocore.waiter import NormalizedOperationMethod as Normalized
from botocore.waiter import Waiter


class NormalizedOperationMethod(Normalized):  # type: ignore[misc] # botocore has no types.
    """An operation whose errors are answers."""

    async def __call__(self, **kwargs: Any) -> Any:
        try:
            return await self._client_method(**kwargs)
        except ClientError as error:
            return error.response


class AIOWaiter(Waiter):  # type: ignore[misc] # botocore has no types.
    """Asks until the state has come."""

    async def wait(self, **kwargs: Any) -> Any:
        """Wait for the state."""
        for _ in range(self.config.max_attempts):
            response = await self._operation_method(**kwargs)
            found = next((one.state for one in self.config.acceptors if one.matcher_func(response)), "retry")
            if found == "success":
                return response
            if found == "failure":
                raise WaiterError(name=self.name, reason="failure", last_response=response)
            await asyncio.sleep(self.config.delay)
        raise WaiterError(name=self.name, reason="Max attempts exceeded", last_response=response)
