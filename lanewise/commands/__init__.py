"""The commands of `lanewise`, each a function of its parsed arguments that returns the exit status."""
