"""Where rows live: one protocol of about a dozen verbs, and the engines that speak it."""
