"""Named results with their sources and premises; every claim cites them."""
