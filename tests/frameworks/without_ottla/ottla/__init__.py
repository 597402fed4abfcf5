"""In place of ottla where an example runs on the client that it was written for, as a control."""
