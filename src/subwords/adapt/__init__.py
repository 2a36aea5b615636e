"""Changes of a vocabulary that keep its ids, and what training and encoding can do beyond the usual."""
