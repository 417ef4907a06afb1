"""What figures, tables and pages show, as arrays: computed and tested before anything is drawn."""
