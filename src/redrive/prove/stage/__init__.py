"""An engine in memory and virtual time whose state can be saved and restored, with the trigger of the handler."""
