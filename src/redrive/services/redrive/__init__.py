"""redrive's own API, `/_redrive/`: health, the clock, faults, runs, the store, functions' code.

Its model is in `wire/data/redrive`; docs/reference/admin.md is generated from it. Operations of this API on a service's
own resources are in that service: those on the occurrences of schedules are in `services/scheduler`.
"""
