"""WordPiece: the model, training, encoding."""
