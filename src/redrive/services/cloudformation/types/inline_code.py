"""Inline code as an archive with one file `index`, which has the extension of the runtime.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-code.html
"""

from __future__ import annotations

import io
import zipfile

from redrive.services.cloudformation.types.schema import PropertyError

_EXTENSIONS = {"nodejs": "js", "python": "py"}
# The earliest date in the ZIP format. With a fixed date, the same text always gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
_READABLE_BY_ALL = 0o644 << 16


def zip_inline(text: str, runtime: str) -> bytes:
    """Return the archive. Errors: PropertyError for a runtime that does not support inline code."""
    extension = next((extension for family, extension in _EXTENSIONS.items() if runtime.startswith(family)), None)
    if extension is None:
        raise PropertyError("ZipFile can only be used when Runtime is set to either of nodejs or python.")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as entries:
        entry = zipfile.ZipInfo(f"index.{extension}", _DATE)
        entry.external_attr = _READABLE_BY_ALL
        entry.compress_type = zipfile.ZIP_DEFLATED
        entries.writestr(entry, text)
    return archive.getvalue()
