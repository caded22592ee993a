"""One module for each kind of block: what shows it to be true."""
