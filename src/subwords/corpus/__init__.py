"""Text on its way in: reading files and texts, counting their words, showing progress."""
