"""The server's own surface, `/_redrive/`: health, the clock, faults, runs, the store, functions' code.

Its model stands in `wire/data/redrive`; docs/reference/admin.md is written from that. What it tells of a service's own
resources stands in that service: the occurrences of schedules in `services/scheduler`.
"""
