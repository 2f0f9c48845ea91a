"""The AWS wire protocols, without sockets: HTTP bytes on one side, (service, operation, parameters) on the other.

What AWS's services accept and answer is read from botocore's service models, as data; botocore itself is not imported.
The wire knows how values are spelled, never what an operation means.
"""
