"""The rules that hold in any weather, and what they are told."""
