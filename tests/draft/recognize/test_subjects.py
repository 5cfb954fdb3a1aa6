"""The words of a name say what a column is about; the last words weigh more, and so does what stands before `of` and `per`."""

from __future__ import annotations

import pytest

from shoal.data.schema import Role
from shoal.draft.recognize.names import words_of
from shoal.draft.recognize.subjects import SUBJECTS, subject_of, vocabulary


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("year_of_diagnosis", "year"),
        ("diagnosis_date", "event date"),
        ("diagnosis", "diagnosis"),
        ("age_at_diagnosis", "age"),
        ("mother_age", "age"),
        ("drinks_per_week", "habit"),
        ("hours_per_week", "hours"),
        ("country_name", "country"),
        ("patient_name", "person name"),
        ("member_no", "person id"),
        ("birth_weight", "body"),
        ("sampling_weight", "weight"),
        ("property_tax", "money"),
        ("e-mail", "email"),
        ("Hochrechnungsfaktor", "weight"),
        ("Haushaltsgröße", "household"),
        ("Nettoeinkommen (EUR)", "income"),
        ("Kaltmiete", "money"),
        ("WZ2008", "employment"),
        ("Versichertennr", "person id"),
        ("Kunden-Nr.", "person id"),
        ("Mitarbeiternummer", "person id"),
        ("Fallnr", "record id"),
        ("Vertragsnummer", "id"),
        ("Hausnummer", "address"),
        ("Sozialversicherungsnummer", "official number"),
        ("Gewicht_kg", "body"),
        ("Körpergröße", "body"),
        ("Gewichtung", "weight"),
        ("Breitengrad", "coordinates"),
        ("Sterbedatum", "event date"),
        ("Erhebungsjahr", "year"),
        ("Zufriedenheit", "opinion"),
        ("Hauptdiagnose", "diagnosis"),
        ("Raucherstatus", "habit"),
        ("Verweildauer", "stay"),
        ("Schulabschluss", "education"),
        ("Nom de famille", "person name"),
        ("Prénom", "person name"),
        ("N° sécurité sociale", "official number"),
        ("Courriel", "email"),
        ("Date de naissance", "birth date"),
        ("Niveau d'études", "education"),
        ("Apellidos", "person name"),
        ("Dirección", "address"),
        ("Fecha de nacimiento", "birth date"),
        ("Historia clínica", "person id"),
        ("Cognome", "person name"),
        ("Data di nascita", "birth date"),
        ("Stato civile", "marital"),
        ("Achternaam", "person name"),
        ("Geboortedatum", "birth date"),
        ("Burgerlijke staat", "marital"),
        ("Peso (kg)", "body"),
        ("hiqual", "education"),
        ("yrs_sch", "education"),
        ("longill", "diagnosis"),
        ("tenure_m", "tenure years"),
        ("tenure", "dwelling"),
        ("wave", "wave"),
        ("wave_year", "year"),
        ("foo", None),
    ],
)
def test_a_name_has_its_subject(name, key):
    found = subject_of(words_of(name, vocabulary()))
    assert (None if found is None else found.key) == key


@pytest.mark.parametrize(
    "name", ["Nom", "Nome", "Anschrift", "Adresse", "Indirizzo", "Adres", "Correo", "Telefoonnummer", "Arzt"]
)
def test_names_and_addresses_in_other_languages_are_never_published(name):
    assert subject_of(words_of(name, vocabulary())).role is Role.IDENTIFIER


def test_every_subject_is_listed_once_and_no_phrase_is_empty():
    assert len({subject.key for subject in SUBJECTS}) == len(SUBJECTS)
    assert all(phrase and all(phrase) for subject in SUBJECTS for phrase in subject.phrases)
    assert {subject.role for subject in SUBJECTS} >= {*Role} - {Role.OTHER}
