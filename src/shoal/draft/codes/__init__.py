"""Public codes that are recognized without a network: countries, regions, diagnoses, occupations, industries, ordered words."""
