"""Tokenizers in the shapes of other libraries; conversion of files and comparison with their own library."""
