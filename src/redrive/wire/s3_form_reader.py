"""Reads a form that brings an object, piece by piece: its fields first, then the bytes of its file.

    feed ─► fields, up to the head of the file ─► content of the file, up to the next boundary ─► the rest is ignored

Source: https://www.rfc-editor.org/rfc/rfc7578 and https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html
"""

from __future__ import annotations

from email import message_from_string
from email.message import Message

from redrive.core.errors import ServiceError

FIELDS_BYTES_MAX = 20 * 1024
"""All fields before the file. Source: the second page above."""

HEAD_BYTES_MAX = 8 * FIELDS_BYTES_MAX
"""All that comes before the file: the fields, with the boundaries and heads of their parts."""

FILE = "file"

_BLANK = b"\r\n\r\n"


class FormReader:
    """The reader of one form. Names of `fields`, which are complete when the form `has_file`, are in lower case."""

    def __init__(self, boundary: bytes) -> None:
        self.fields: dict[str, str] = {}
        self.file_name = ""
        self.has_file = False
        self._delimiter = b"\r\n--" + boundary
        # The first boundary has no line before it.
        self._unread = b"\r\n"
        self._before = b""
        self._fields_size = 0
        self._has_ended = False

    @property
    def head(self) -> bytes:
        """The form up to the content of its file."""
        return self._before[2:]

    def feed(self, piece: bytes) -> bytes:
        """Take the next bytes of the form, and return those that are known to be content of the file.

        Errors: MalformedPOSTRequest; MaxPostPreDataLengthExceeded.
        """
        if not self.has_file and len(piece) > HEAD_BYTES_MAX:
            # Fields are cut off one by one: what is behind them would be moved each time.
            return self.feed(piece[:HEAD_BYTES_MAX]) + self.feed(piece[HEAD_BYTES_MAX:])
        self._unread += piece
        while not self.has_file and not self._has_ended:
            if not self._read_part():
                if len(self._before) + len(self._unread) > HEAD_BYTES_MAX:
                    raise _fields_too_large()
                return b""
        return b"" if self._has_ended else self._content()

    def finish(self) -> None:
        """Say that the form is complete. Errors: MalformedPOSTRequest (its end is missing)."""
        if not self._has_ended:
            raise _malformed()

    def _read_part(self) -> bool:
        """Read the next field, the head of the file, or the end of the form. Whether that much has come."""
        unread, delimiter = self._unread, self._delimiter
        begin = unread.find(delimiter)
        if begin < 0:
            return False
        begin += len(delimiter)
        if unread.startswith(b"--", begin):
            self._has_ended, self._unread = True, b""
            return True
        blank, end = unread.find(_BLANK, begin), unread.find(delimiter, begin)
        if end >= 0 and (blank < 0 or end < blank + len(_BLANK)):
            raise _malformed()
        if blank < 0:
            return False
        name, file_name = _named(unread[begin:blank])
        if name == FILE:
            # What comes after the file is ignored.
            end = blank + len(_BLANK)
            self.file_name, self.has_file = file_name, True
        elif end < 0:
            return False
        else:
            self._add(name, unread[blank + len(_BLANK) : end])
        self._before += unread[:end]
        self._unread = unread[end:]
        return True

    def _add(self, name: str, value: bytes) -> None:
        """Add a field. Errors: MaxPostPreDataLengthExceeded."""
        self.fields[name] = value.decode("utf-8", "replace")
        self._fields_size += len(name) + len(value)
        if self._fields_size > FIELDS_BYTES_MAX:
            raise _fields_too_large()

    def _content(self) -> bytes:
        """The bytes before the boundary that ends the file. The end of what has come may be the boundary's begin."""
        unread = self._unread
        content, found, _ = unread.partition(self._delimiter)
        if found:
            self._has_ended, self._unread = True, b""
            return content
        kept = min(len(unread), len(self._delimiter) - 1)
        self._unread = unread[len(unread) - kept :]
        return unread[: len(unread) - kept]


def _named(head: bytes) -> tuple[str, str]:
    """The name of a part, in lower case, and the name of its file. Errors: MalformedPOSTRequest."""
    lines = head.lstrip(b" \t").removeprefix(b"\r\n")
    message: Message = message_from_string(lines.decode("utf-8", "replace"))
    name = message.get_param("name", header="content-disposition")
    if not isinstance(name, str):
        raise _malformed()
    return name.lower(), message.get_filename() or ""


def _fields_too_large() -> ServiceError:
    message = "Your POST request fields preceding the upload file were too large."
    return ServiceError("MaxPostPreDataLengthExceeded", message, http_status=400)


def _malformed() -> ServiceError:
    message = "The body of your POST request is not well-formed multipart/form-data."
    return ServiceError("MalformedPOSTRequest", message, http_status=400)
