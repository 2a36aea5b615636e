"""What trainers share: the limits of training, and the loop that merges pairs."""
