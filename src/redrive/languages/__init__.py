"""The small languages of AWS services: schedules, patterns, expressions, policies.

Every language here is sans-IO: text and values in, values out. It imports `redrive.core` and the standard
library only (and a parser, where reading is the work: pyproject.toml names them), and knows nothing of services,
stores or the wire.
"""
