"""The third driver of the engine: one seed, several nodes, bad weather, and checkers that see every beat.

    world.py      Simulation: a priority queue of events over one database and one true clock
    events.py     the events in that queue: beats of nodes, acts of users, strikes of hazards
    fleet.py      the database, the nodes over it, and their clients
    nodes.py      a node: a machine with a process on it, its slots, its crashes and pauses
    serving.py    a process, and how steps reach the store: by the group commit, in unreliable batches
    clocks.py     the clock of each node's machine; all of them are wrong
    weather.py    which hazards a run has, and how often they strike
    functions.py  handlers as plain callables, run at the instant of their event
    clients.py    clients whose calls may fail, or succeed without an answer
    happenings.py what the checkers observe
    checkers*.py  the rules that hold in any weather
    users.py      users of the engine: producers, consumers, redrivers, and what handlers do
    editors.py    users who make targets fail, and who change schedules just when they are due
    workload.py   what the users have created: queues, functions, mappings, schedules
    final_state.py  what is read at the end: the history, the metrics, the remaining messages
    trace.py      one line for each event, and their hash
    failures.py   a broken rule, and the report on it
    swarm.py      one seed, everything drawn from it

A run reads no clock and draws all its randomness from its seed: the same seed gives the same trace. It shows how the
engine works on the embedded store. It shows nothing about another database's isolation, real HTTP, or AWS itself.
"""
