"""How a stack is brought from one template to the next, a step at a time, and back."""
