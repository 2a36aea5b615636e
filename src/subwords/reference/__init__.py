"""The textbook twins of the fast algorithms: short, slow, and the definition of the right answer."""
