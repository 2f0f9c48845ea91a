"""Searches the histories of a handler for one in which work is lost, repeated or stuck.

The rooms, top to bottom; a room imports only rooms below it:

    proving    a proof from beginning to end
    tell       verdict.py    what a search came to
               story.py      a history told in numbered steps
               advice.py     what to do about it
               export.py     a counterexample as a test
    search     options.py    what a proof is asked to do
               clean.py      what runs in which nothing goes wrong leave behind
               reasons.py    why a handler cannot be proved
               search.py     all histories up to so many faults, fewest first
    judge      ledger.py     which table is the handler's memory, and which of its records say that a run goes on
               judge.py      the rules, and which one a history has broken
    play       faults.py     what can go wrong, and a history: the legs of a message's way and the faults on each
               events.py     what happens on a leg, as values
               variables.py  the environment variables of the process and of each run
               transport.py  how a call is answered: shortened for the search, or through the whole wire
               strikes.py    the calls of a leg as they are reached, and the faults that strike at them
               running.py    one run while it goes on: what it has met, how it dies
               performance.py  one leg of a history
    stage      stage.py      an engine in memory and virtual time that can be saved and put back
               ids.py        the ids of a history, and which of them make no difference any more
               tape.py       what the engine answered on a leg, for the legs that begin like it
               trigger.py    the queue, dead-letter queue, mapping and function in front of the handler, and its event
               messages.py   the trigger's messages: sent, doubled, redriven, left
               template.py   the same from a CloudFormation template
               tables.py     tables and queues that nobody declared, made by what the handler asks of them
    effects    declared.py   effects that the user declared with redrive.handler
               contents.py   what stands in the things that are left behind
               journal.py    the effects that are left behind
    calls      calls.py      a call of the handler: who is asked what, and whether that changes anything
               batches.py    calls of many entries, of which some may be refused
               tokens.py     calls that the service recognises when they come again, and for how long
               sorting.py    what each thing that is done counts for: an effect, a record, or nothing
               outside.py    answers of services that the engine does not have
    process    subject.py    the user's code: imported anew for each run, as in a new execution environment
               surroundings.py  what a run sees of its process: virtual time, seeded randomness, no network
               clients.py    the handler's boto3 clients, made once
               threads.py    the threads and coroutines of a run, one after another

What is searched is what the handler does at the calls that are seen: those of boto3, and declared effects. Nothing is
said of threads that outlive a run, of memory that is kept between runs, or of the network, to which no byte goes.
"""
