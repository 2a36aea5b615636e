"""WordPiece: model, training and encoding."""
