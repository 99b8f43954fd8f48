"""What pages share: parts of the shell, forms, tables, and small drawings of our own."""
