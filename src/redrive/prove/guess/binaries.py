"""Small files of binary kinds: what libraries that open images, PDFs and archives accept.

Each is whole and as small as its format allows. A library that looks deeper than its format asks for may refuse one.
"""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

_WIDTH, _HEIGHT = 16, 16
_RED = b"\xc0\x30\x20"


def png() -> bytes:
    """An image of 16 x 16 pixels of one colour. Source: https://www.w3.org/TR/png-3/"""
    rows = (b"\x00" + _RED * _WIDTH) * _HEIGHT
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pdf() -> bytes:
    """A document of one page with a line of text. Source: ISO 32000-1, 7.5 (file structure)."""
    text = b"BT /F1 12 Tf 20 100 Td (sample text) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    )
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(made))
    return made + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


def gzipped(content: bytes) -> bytes:
    """The content, compressed; the same bytes each time."""
    return gzip.compress(content, mtime=0)


def archive(content: bytes) -> bytes:
    """A zip archive with the content as its only file; the same bytes each time."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        made.writestr(zipfile.ZipInfo("sample.txt"), content)
    return written.getvalue()


KINDS: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "png": (png, "an image of 16 x 16 pixels"), "pdf": (pdf, "a PDF of one page"),
}  # fmt: skip
"""Kinds of files whose content nothing in a source decides: by their usual suffix, with what they are in words."""
PACKED: Mapping[str, tuple[Callable[[bytes], bytes], str]] = {
    "gz": (gzipped, "compressed with gzip"), "zip": (archive, "in a zip archive"),
}  # fmt: skip
"""What is put around a content, likewise."""
