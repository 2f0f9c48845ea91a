"""Hostile input from seeds, for everything that reads what others wrote.

    conftest     which seeds a test runs: fixed ones in `make test`, new ones for so many seconds in `make fuzz`
    values       texts, numbers, bytes and trees that break readers
    shapes       parameters of an operation from AWS's model, fitting and unfitting
    protocols    parameters as a request of each protocol of a service
    furniture    a world in which there is something to ask for
    watch        what holds for each call, whatever it says
    shrinking    the smallest case that still fails, and the test that repeats it
    work         the lines that a call runs, and an end to those that never end

A seed decides all of a case, so a seed that failed is a case to repeat: REDRIVE_FUZZ_CASE=SEED make fuzz k=NAME.
"""
