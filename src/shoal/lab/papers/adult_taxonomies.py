"""Taxonomies of two attributes of Adult, made for the reproduction of SC13 chapter 6, which took WordNet's.

Occupations stand below the major groups of ISCO-08 and these below the kind of work; countries below the regions and
continents of the United Nations. Some labels of the table are cut or misspelled; they are kept as the table has them.
`South` is cut; it is taken for South Korea.
"""

from __future__ import annotations

from shoal.data.taxonomy import Taxonomy

OCCUPATION = Taxonomy.of(
    {
        "occupation": {
            "office work": {
                "managers": ["Exec-managerial"],
                "professionals": ["Prof-specialty"],
                "technicians": ["Tech-support"],
                "clerks": ["Adm-clerical"],
            },
            "service work": {
                "sales workers": ["Sales"],
                "personal service workers": ["Other-service", "Priv-house-serv"],
                "protective service workers": ["Protective-serv"],
            },
            "manual work": {
                "agricultural workers": ["Farming-fishing"],
                "craft workers": ["Craft-repair"],
                "operators": ["Machine-op-inspct", "Transport-moving"],
                "elementary occupations": ["Handlers-cleaners"],
            },
            "military work": {"armed forces": ["Armed-Forces"]},
        }
    }
)

NATIVE_COUNTRY = Taxonomy.of(
    {
        "world": {
            "Americas": {
                "Northern America": ["United-States", "Canada"],
                "Central America": ["Mexico", "El-Salvador", "Guatemala", "Honduras", "Nicaragua"],
                "Caribbean": ["Cuba", "Dominican-Republic", "Haiti", "Jamaica", "Puerto-Rico", "Trinadad&Tobago"],
                "South America": ["Columbia", "Ecuador", "Peru"],
            },
            "Asia": {
                "Eastern Asia": ["China", "Hong", "Japan", "South", "Taiwan"],
                "South-eastern Asia": ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
                "Southern Asia": ["India", "Iran"],
            },
            "Europe": {
                "Eastern Europe": ["Hungary", "Poland"],
                "Northern Europe": ["England", "Ireland", "Scotland"],
                "Southern Europe": ["Greece", "Italy", "Portugal", "Yugoslavia"],
                "Western Europe": ["France", "Germany", "Holand-Netherlands"],
            },
            "Oceania": {"Pacific islands": ["Outlying-US(Guam-USVI-etc)"]},
        }
    }
)
