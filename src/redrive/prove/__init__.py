"""Searches the histories of a handler for one in which work is lost, repeated or stuck.

    subject.py       the user's code: imported anew for each run, as in a new execution environment
    surroundings.py  what a run sees of its process: virtual time, seeded randomness, no network
    stage.py         an engine in memory and virtual time that can be saved and put back
    ids.py           the ids of a history, and which of them make no difference any more
    tape.py          what the engine answered on a leg, for the legs that begin like it
    running.py       one run while it goes on: what it has met, how it dies
    threads.py       its threads and coroutines, one after another
    strikes.py       its calls as they are reached, and the faults that strike at them
    trigger.py       the queue, dead-letter queue, mapping and function in front of the handler, and its event
    messages.py      the trigger's messages: sent, doubled, redriven, left
    template.py      the same from a CloudFormation template
    tables.py        tables and queues that nobody declared, made by what the handler asks of them
    faults.py        what can go wrong, and a history: the legs of a message's way and the faults on each
    variables.py     the environment variables of the process and of each run
    declared.py      effects that the user declared with redrive.handler
    clients.py       the handler's boto3 clients, made once
    calls.py         a call of the handler: who is asked what, and whether that changes anything
    transport.py     how a call is answered: shortened for the search, or through the whole wire
    outside.py       answers of services that the engine does not have
    batches.py       calls of many entries, of which some may be refused
    tokens.py        calls that the service recognises when they come again, and for how long
    sorting.py       what each thing that is done counts for: an effect, a record, or nothing
    contents.py      what stands in the things that are left behind
    journal.py       the effects that are left behind
    events.py        what happens on a leg, as values
    performance.py   plays one leg of a history: the handler runs, faults strike at its calls
    ledger.py        which table is the handler's memory, and which of its records say that a run goes on
    clean.py         what runs in which nothing goes wrong leave behind
    reasons.py       why a handler cannot be proved
    judge.py         the rules, and which one a history has broken
    search.py        all histories up to so many faults, fewest first
    story.py         a history told in numbered steps
    advice.py        what to do about it
    verdict.py       what a search came to
    export.py        a counterexample as a test
    options.py       what a proof is asked to do
    proving.py       all of it together

What is searched is what the handler does at the calls that are seen: boto3's and declared effects. It says nothing of
threads that outlive a run, of memory kept between runs, nor of the network, to which no byte goes.
"""
