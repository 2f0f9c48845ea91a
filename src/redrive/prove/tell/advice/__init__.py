"""What to do about a history: its cause, the words for it, and a change of the source where one can be derived."""
