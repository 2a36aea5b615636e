"""The objects that encoding returns."""
