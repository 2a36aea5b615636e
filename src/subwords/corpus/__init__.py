"""Input of text: reads files and texts, counts their words, shows progress."""
