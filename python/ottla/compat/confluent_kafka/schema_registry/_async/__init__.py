"""The asyncio classes of the registry. Import them from the public modules."""
