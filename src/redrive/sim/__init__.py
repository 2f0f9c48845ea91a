"""The third driver of the engine: one seed, several nodes, bad weather, and checkers that watch every beat.

    world.py      Simulation: a priority queue of events over one database and one true clock
    events.py     what is in that queue: beats of nodes, acts of users, strikes of the weather
    fleet.py      the database, the nodes over it, and their clients
    nodes.py      a node: a machine with a process on it, its slots, its crashes and pauses
    serving.py    a process, and how steps reach the store: by the group commit, in unreliable batches
    clocks.py     the clock of each node's machine, none of which is right
    weather.py    which faults are armed, and how often they strike
    functions.py  handlers as plain callables, run at the instant of their event
    clients.py    clients whose calls may fail, or succeed without being told
    happenings.py what the checkers are told
    checkers*.py  the rules that hold in any weather
    users.py      users of the engine: producers, consumers, redrivers, and what handlers do
    editors.py    users who have targets fail, and who change schedules just when they are due
    workload.py   what the users have set up: queues, functions, mappings, schedules
    final_state.py  what is read in the end: the history, the metrics, what is left
    trace.py      one line for each event, and their hash
    failures.py   a broken rule, and the story that is told of it
    swarm.py      one seed, everything drawn from it

A run reads no clock and draws all its randomness from its seed: the same seed gives the same trace. It shows what the
engine does on the embedded store; it says nothing of another database's isolation, of real HTTP, or of AWS itself.
"""
