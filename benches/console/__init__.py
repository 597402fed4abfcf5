"""What a console costs the client that it shows."""
