"""What every room uses: argument checks, names, memory, threads, atomic writes."""
