"""The files of a store: opening, examining, closing, copying."""
