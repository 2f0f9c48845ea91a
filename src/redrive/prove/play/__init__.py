"""Playing one leg of a history: the handler runs, and faults strike at its calls."""
