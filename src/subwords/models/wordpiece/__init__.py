"""WordPiece."""
