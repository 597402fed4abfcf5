"""Instructions of the hot loops, counted by callgrind: the same on every run, unlike seconds."""
