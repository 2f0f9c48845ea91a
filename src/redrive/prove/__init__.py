"""Searches the histories of a handler for one in which work is lost, repeated or stuck.

The rooms, top to bottom; a room imports only rooms below it:

    system     parts.py      the functions of a template that take part, and those that are left out
               wiring.py     what feeds which function, what is passage, and what leaves the system
               entrances.py  where an event comes into a system
               incoming.py   the event, and how it is sent
               messages.py   what is on its way in a system, and its dead letters
               performance.py  one leg of a system's history
               search.py     the faults of a system
               answers.py    what its functions need of others, as their own proofs guess it
               advice.py     what to do about a history of a system
               proving.py    a proof of a system from beginning to end
    whole      all functions of a project, one proof after the other
    proving    a proof from beginning to end
    refusals   what AWS refuses of a template, with the change that ends it
    inputs     what a handler is given where nobody says it
    making     the world of a handler: declared by a template, or guessed until the handler comes through
    world      a world before its first message, and performances in it
    tell       verdict.py    the result of a search
               story.py      a history told in numbered steps
               advice/       what to do about it: causes.py recognises why by the history's structure (repeated.py,
                             lost.py), words.py says so, changes/ derives a change of the source or the template
               named.py      a report with resources by their logical ids
               words.py      the words about FIFO queues, topics, schedules, tasks and APIs
               export.py     a counterexample as a test
               result.py     what became of a function, for reports of all forms
               junit.py      results as JUnit's XML
               sarif.py      results as SARIF
               summary.py    results as Markdown
    search     options.py    the options of a proof
               choice.py     which faults are searched
               baseline.py   findings that are accepted, with the reason
               clean.py      what runs without faults leave behind
               fitting.py    the first run, and what has to fit its answers
               draws.py      what differs with what a handler draws, and on which draws it is judged
               reasons.py    why a handler cannot be proved
               unseen.py     what is said of a handler that changes nothing
               stems.py      where a search goes on: the histories that a history has, with one fault more
               order.py      the histories with the fewest faults first, whoever plays them
               search.py     all histories up to so many faults, fewest first
               order.py      the order of a search, and what it has come to
               stems.py      the histories that a history has, with one fault more
               processes.py  a search in several processes
               rehearsing.py runs the handler until it comes through, and mends the guess that each failure names
               tagged.py     tags of objects that a handler asks for
    judge      ledger.py     which table is the handler's memory, and which of its records say that a run is under way
               judge.py      the rules, and which one a history has broken
    play       faults.py     the faults, and a history: the legs of a message's way and the faults on each
               events.py     the events of a leg, as values
               environments.py  the execution environments of a history, and which of them a run is in
               variables.py  the environment variables of the process and of each run
               asked.py      a call of a client, made ready once; the ways on which calls proceed
               reply.py      what a run is told of a call, and how the code is given it
               reading.py    answers as botocore reads them
               written.py    requests as botocore writes them
               transport.py  how a call is answered: shortened for the search, or through the whole wire
               strikes.py    the calls of a leg in order, and the faults that strike at them
               web.py        answers to requests over HTTP, and their faults
               behaviour.py  what runs have done, by what they had observed: runs without their code
               running.py    one run under way: what it has observed, how it dies
               state.py      what the legs, the runs and the calls of a performance share
               runs.py       runs the handlers of functions
               boundary.py   the calls of the runs: answers them, and lets faults strike at them
               performance.py  one leg of a history
               sql.py        answers to statements of SQL, and their faults
    stage      stage.py      an engine in memory and virtual time whose state can be saved and restored
               ids.py        the ids of a history, and which of them do not matter any more
               contents.py   the contents of the engine's tables, and what was answered where they were the same
               question.py   a question to the engine, as a value
               tape.py       the engine's answers on a leg, for legs with the same beginning
               others.py     another message, worked on while the first one is
               trigger.py    the queue, dead-letter queue, mapping and function in front of the handler, and its event
               rules.py      the same for events that invoke the function: given, or a sample that a rule matches
               subscriptions.py  what a subscription of logs invokes a function with
               sampled.py    the sample event: of a kind of AWS's own, completed by what the handler reads
               called.py     the event of a function that an API, a topic or a custom resource calls
               chosen.py     the function of a template under proof, and the code that stands for it
               variables.py  variables that the user has given, as those of the function
               records.py    records of streams: as they are given, and as they are put
               positions.py  how far a mapping has read its stream, and what is read again
               streams.py    the function that a stream feeds: made for the handler, or of a template
               envelopes.py  the messages of a queue with their attributes
               messages.py   the trigger's messages: sent, duplicated, redriven, left
               retriers.py   who awaits the answers of a function, and when they ask again
               awaited.py    the same messages for those who await answers: tasks and clients of APIs
               sources.py    the messages of a trigger of any kind
               reports.py    whether a mapping has ReportBatchItemFailures, as the handler's answers say
               inputs.py     what a function is invoked with by a topic, a schedule, a task or an API
               template.py   the same from a CloudFormation template
               deployed.py   a template on a stage: deployed once, and put into further stages
               invoked.py    of a template the function that a rule invokes
               fed.py        the same for topics, buckets, schedules, tasks and APIs
               state_machines.py  the tasks of a template's state machines
               tables.py     undeclared tables and queues, made to fit the handler's calls
               deliveries.py what feeds a handler, by what it reads of its event
               furnished.py  rows, objects, secrets and parameters before the first run
               filtered.py   messages and records that the filter of a mapping lets through
               hinted.py     what a trigger delivers, with the changes of guesses in it
               notifications.py the notification that S3 invokes a function with
               queried_keys.py the key that a query asks for
    sql        server.py     the databases of a world and their open transactions: saved and restored
               database.py   one database, in memory
               tables.py     the tables that the code and the files of SQL beside it show
               translation.py statements of PostgreSQL and MySQL as those of SQLite
               unnesting.py  arrays as rows
               functions.py  functions of SQL that SQLite has not
               translating.py translated statements, remembered: the parser is imported with the first of them
               statement.py  statements and tables as values
    project    finding.py    where a project has its template, or handlers without any
               elsewhere.py  modules that lie elsewhere in the project
               source.py     a template of any kind, as CloudFormation after its transforms
               assets.py     where the CDK has put code
               images.py     container images: the handler that a template or a Dockerfile names
               letters.py    queues for dead letters that another stack has
               pipes.py      pipes from a queue or a stream to a function, as mappings
               parameters.py values for the parameters of a template that have no default
               plans.py      a plan of Terraform: its resources and what they refer to
               resources.py  Terraform's types in CloudFormation's words
               terraform.py  a plan as a template
               serverless.py  a service of the Serverless Framework as a template
               serverless_events.py  the events of its functions, as those of SAM
               hcl.py        single arguments in Terraform's source
               hcl_syntax.py  Terraform's language, parsed
               hcl_values.py  its values, known and unknown
               hcl_functions.py  its functions and operators
               hcl_evaluation.py  what its expressions come to
               configuration.py  Terraform's files as a plan of them
               code_elsewhere.py  code that is not where a template has it
               functions.py  the functions of a template, and what feeds each
               choosing.py   which function is meant
               focus.py      a template made ready for one function, with stubs
               environment.py  variables in files and on the command line
               packages.py   packages that are not there, and the command that installs them
               nodes.py      values of templates
    effects    declared.py   effects that the user declared with redrive.handler
               contents.py   the contents of what is left behind
               journal.py    the effects that a history leaves behind
               versions.py   numbers that count writes, which are no facts of the work
    calls      calls.py      a call of the handler: service, operation, target, and whether it changes anything
               repeats.py    calls that leave the same when they are made twice
               batches.py    calls with many entries, some of which may be refused
               tokens.py     calls that a service deduplicates by a token, and for how long
               sorting.py    how each call counts: as an effect, a record, or nothing
               outside.py    answers of services that the engine does not have
               requests.py   requests over HTTP as calls, and their idempotency keys
               given.py      what the user has given: answers to requests
               absent.py     made-up answers about parameters, buckets and keys that are not there
               models.py     answers of models that are invoked with a body of their own
               verbs.py      reads told from writes, by the verb of an operation
    process    subject.py    the user's code: imported anew for each run, as in a new execution environment
               memory.py     what the modules of an environment hold: told, kept, put back
               surroundings.py  the process as a run sees it: virtual time, seeded randomness, no network
               clients.py    the handler's boto3 clients, made once
               sessions.py   its boto3 sessions, made quickly
               garbage.py    cycles are looked for seldom: a search keeps nearly all that it makes
               exchange.py   a request over HTTP and its answer, as values
               http.py       requests of http.client and what stands on it: urllib, urllib3, requests
               http_async.py requests of httpcore (httpx) and aiohttp
               aio_clients.py the calls of aiobotocore's clients, and of aioboto3's
               imports.py    libraries that are taken over when they are imported
               caught.py     exceptions that the user's code catches itself
               threads.py    the threads and coroutines of a run, one after another
               files.py      a /tmp for each run; nothing else can be written to
               rehearsed.py  a handler whose runs show what their guesses lack
               asyncpg_driver.py asyncpg, installed or not: what makes its connections
               asyncpg_connection.py a connection of asyncpg, its cursors and transactions
               asyncpg_pool.py pools of asyncpg
               asyncpg_errors.py exceptions of asyncpg
               asyncpg_values.py records, and what asyncpg gives and takes for values
               rds_data.py   the RDS Data API, as statements of a driver
               sql_connection.py a connection to a database, for all drivers
               sql_drivers.py drivers whose connections are answered in the process
               sql_exchange.py a statement and its answer, as values
               sql_stand_ins.py modules for drivers that are not installed
               statements.py what a statement is by its first word
               waiters.py    waiters of services whose answers are made up
    guess      reading.py    what the source of a handler reads of its event, and of its environment
               samples.py    one event of each kind that AWS's services publish (events.json), and which kind is meant
               record_samples.py  two records of a stream, with what the handler reads
               web_samples.py  a request to an API, by the routes and keys of the source
               answer_names.py  the names in a partial batch response, and how they are misspelt
               variables.py  values for environment variables, by their names
               answers.py    answers to reads of services that the engine does not have, by their shapes
               http_answers.py  what the source reads of answers over HTTP
               binaries.py   small files that libraries open: an image, a PDF, archives
               bindings.py   what an environment variable is used for, by the calls that its value ends in
               causes.py     what an exception says about the guess that it came from
               validators.py  what validators say about it
               mends.py      changes of guesses, as values
               places.py     the places of the values in a failing expression
               parts.py      steps of places that are no keys: parts of texts, members of no list yet
               contents.py   a file as the handler reads it: CSV, JSON or text
               hints.py      changes of guesses, put into the documents that were guessed
               keys.py       the keys of tables and indexes that the source shows
               plausible.py  values for the members of botocore's shapes, by their names
               positions.py  the expression that an exception came from, and the values of its parts
               watched.py    values that know where they come from

The search covers the calls that it sees: those of boto3 and aiobotocore, requests over HTTP, statements of SQL, and
declared effects. It does not cover threads that outlive a run, memory of libraries that is kept between runs, or the
network: no byte is sent.
"""
