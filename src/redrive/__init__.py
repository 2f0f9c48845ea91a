"""redrive makes it safe to run work again.

The base package imports nothing outside the standard library, so that `redrive.handler` fits a Lambda bundle.
"""

__version__ = "0.1.0"
