"""Reading: the readers that Spark asks to plan, and the code that runs in tasks."""
