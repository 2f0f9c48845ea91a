"""The small languages of AWS services: schedules, patterns, expressions, policies.

Every language here is sans-IO: text and values in, values out. It imports `redrive.core`, the standard library and,
where reading is the work, a parser that pyproject.toml names. It knows nothing of services, stores or the wire.
"""
