"""Systems Manager: its Parameter Store. Everything else of Systems Manager is refused by name.

Source: https://docs.aws.amazon.com/systems-manager/latest/userguide/systems-manager-parameter-store.html
"""
