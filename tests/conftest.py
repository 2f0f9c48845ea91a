"""How property tests run here and in CI: without deadlines, and in CI with the same examples every time.

And the fixtures that rooms share.
"""

from __future__ import annotations

import os

from hypothesis import settings

from tests.support.postgresql import postgresql_store_url, postgresql_url

__all__ = ["postgresql_store_url", "postgresql_url"]

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
