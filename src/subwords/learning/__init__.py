"""Shared by the trainers: limits of training, and the loop that merges pairs."""
