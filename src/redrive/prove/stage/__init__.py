"""An engine in memory and virtual time that can be saved and put back, with the trigger in front of the handler."""
