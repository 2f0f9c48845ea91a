"""The items of a distributed Map: read from files and lists, gathered into batches."""

from __future__ import annotations

from redrive.languages.states.items.batches import batch_document, batches_of
from redrive.languages.states.items.readers import listed_item, manifest_files, read_items

__all__ = ["batch_document", "batches_of", "listed_item", "manifest_files", "read_items"]
