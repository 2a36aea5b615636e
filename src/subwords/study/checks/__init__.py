"""The checks of an audit, one file for each part of a tokenizer. A check yields findings."""
