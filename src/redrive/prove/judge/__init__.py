"""The rules, and which of them a history has broken."""
