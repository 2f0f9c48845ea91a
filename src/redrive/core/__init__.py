"""What every room shares: time, entropy, names, errors, retry. Standard library only; imports no other room."""
