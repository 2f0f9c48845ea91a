"""botocore's files are read once by a process that runs tests, not once by each session.

A session with its first client takes 86 ms of CPU to make, of which it reads files for 78 ms; hundreds of tests have
a session of their own, or several. The files do not change while tests run.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson

FILES_KEPT_MAX = 200
"""A few services of the 400 are used by many tests."""


@contextmanager
def files_read_once() -> Iterator[None]:
    """While entered, every loader of botocore knows what another one has read, and has found in the same folders."""
    from botocore.loaders import JSONFileLoader, Loader  # noqa: PLC0415 - a run of tests/tidy needs no botocore.

    read, find = JSONFileLoader.load_file, Loader.list_available_services

    @functools.lru_cache(FILES_KEPT_MAX)
    def read_once(path: str) -> Any:
        return read(JSONFileLoader(), path)

    @functools.lru_cache(FILES_KEPT_MAX)
    def found_once(kind: str, *folders: str) -> Any:
        return find(Loader(list(folders), include_default_search_paths=False), kind)

    def load_file(_: Any, path: str) -> Any:
        return read_once(path)

    def list_available_services(loader: Any, type_name: str) -> Any:
        return found_once(type_name, *loader.search_paths)

    with (
        patch.object(JSONFileLoader, "load_file", load_file),
        patch.object(Loader, "list_available_services", list_available_services),
    ):
        yield


def every_service() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the newest model of each service that botocore knows, read anew, and not kept: they are large."""
    import botocore  # noqa: PLC0415 - as above.

    for folder in sorted((Path(botocore.__file__).parent / "data").iterdir()):
        versions = sorted(folder.glob("*/service-2.json.gz"))
        if versions:
            yield folder.name, orjson.loads(gzip.decompress(versions[-1].read_bytes()))
