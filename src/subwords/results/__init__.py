"""What encoding returns."""
