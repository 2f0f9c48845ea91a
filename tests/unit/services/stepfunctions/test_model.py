"""The rules of stepfunctions, without a store."""
