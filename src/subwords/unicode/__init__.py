"""Unicode 16.0 as tables."""
