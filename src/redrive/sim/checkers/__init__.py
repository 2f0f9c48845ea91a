"""The rules that hold in any weather, and what the checkers observe."""
