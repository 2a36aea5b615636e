"""What every room uses: checks of arguments, files, memory, threads, stored tables, text for terminals and pages."""
