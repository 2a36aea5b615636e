"""Tokenizers in the shapes of other libraries, and tokenizers of other libraries in one shape: to compare with them."""
