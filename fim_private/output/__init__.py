"""What is shown and written: tables, figures, files."""
