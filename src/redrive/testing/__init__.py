"""An engine in a test: in process, in virtual time, with boto3 clients. pytest gets it as the fixture `redrive`."""
