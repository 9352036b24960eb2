"""How numbers, money, times, colours and pieces of HTML are written, for values and reports alike. Knows no noun of the package."""
