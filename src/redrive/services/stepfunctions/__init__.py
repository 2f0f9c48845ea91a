"""AWS Step Functions: state machines, their executions, activities and map runs.

What is left out on purpose: integrations with services that redrive does not serve (they fail as such a service would
fail for somebody who has no permission), and encryption with customer keys, which is stored and shown only.
Source: https://docs.aws.amazon.com/step-functions/latest/dg/welcome.html
"""
