"""Results as tables: the columns of a row, HTML for notebooks, and output files that appear whole or not at all."""
