"""How a stack moves from one template to the next, step by step, and back."""
