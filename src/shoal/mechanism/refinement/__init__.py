"""Knowledge refinement: answers that sharpen what an analyst already believes."""
