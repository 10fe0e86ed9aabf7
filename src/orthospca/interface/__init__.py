"""What people see and type: the command line, files, tables, pictures and reports."""
