"""What a tokenizer does with a text, how good it is, and what is wrong with it."""
