"""What the blocking and the asyncio classes of the registry share."""
