"""The tests of redrive."""
