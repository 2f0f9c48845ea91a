"""Transforms: what CloudFormation does to a template before it is deployed."""

from __future__ import annotations
