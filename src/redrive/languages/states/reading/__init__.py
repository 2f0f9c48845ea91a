"""Reads a definition, and finds all that is wrong with it."""

from __future__ import annotations

from redrive.languages.states.reading.errors import errors_caught_by, retriers_of
from redrive.languages.states.reading.machine import MachineType, diagnose, read_definition

__all__ = ["MachineType", "diagnose", "errors_caught_by", "read_definition", "retriers_of"]
