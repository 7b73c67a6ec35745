// Everything of it that device code needs is built in.
