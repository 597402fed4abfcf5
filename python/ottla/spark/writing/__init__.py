"""Writing: the writers of batches and streams, and reports of the records written."""
