"""Words to ids: the loop that feeds a segmenter, and the word cache."""
