"""Textbook versions of the fast algorithms: short and slow, they define the right answer."""
