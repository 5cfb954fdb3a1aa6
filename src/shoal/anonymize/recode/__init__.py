"""What a group shows: its centre, a label that covers it, or its own values in another order."""
