"""Transforms: changes that CloudFormation makes to a template before it is deployed."""

from __future__ import annotations
