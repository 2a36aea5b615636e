"""WordLevel."""
