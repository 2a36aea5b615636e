"""SentencePiece's .model files."""
