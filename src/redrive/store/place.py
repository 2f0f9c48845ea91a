"""Where a store is: in a directory or a file of this machine, or in a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from redrive.store.postgres.url import StoreUrl

Place = Path | StoreUrl
"""A directory or file on this machine, or a database."""
