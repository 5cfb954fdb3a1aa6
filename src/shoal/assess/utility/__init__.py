"""What a released table is good for: how near columns, relations and answers are to the original's, and what can be learned."""
