"""Answers over HTTP whose content is awaited."""

from __future__ import annotations

from botocore.awsrequest import AWSResponse


class AioAWSResponse(AWSResponse):  # type: ignore[misc] # botocore has no types.
    """An answer."""

    async def _content_prop(self) -> bytes:
        if self._content is None:
            self._content = await self.raw.read()
        return bytes(self._content)

    @property
    def content(self) -> object:
        """Its body, to be awaited."""
        return self._content_prop()
