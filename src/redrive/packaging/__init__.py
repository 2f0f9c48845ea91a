"""Packs local code for functions: its files and their dependencies, as one reproducible archive.

It knows SAM's and CloudFormation's templates as texts, and no server: the caller passes a function that uploads
archives.
"""

from __future__ import annotations
