"""Reads a definition, and finds all that is wrong with it."""

from __future__ import annotations

from redrive.languages.states.reading.machine import MachineType, diagnose, read_definition

__all__ = ["MachineType", "diagnose", "read_definition"]
