"""Changes of a vocabulary that keep its ids; other training and sampling methods."""
