"""Local code on its way to functions: which files, with which dependencies, as one archive that is always the same.

It knows SAM's and CloudFormation's templates as texts, and no server: who deploys hands it a way to bring archives.
"""

from __future__ import annotations
