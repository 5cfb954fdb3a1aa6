"""What a group shows: its centre, a label, or its own values in another order."""
