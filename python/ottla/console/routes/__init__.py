"""The routes of the console, one module for each page that has its own data."""
