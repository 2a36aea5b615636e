"""Pre-tokenization: text into words."""
