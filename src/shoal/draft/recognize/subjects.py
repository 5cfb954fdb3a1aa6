"""What a column is about, by the words in its name: the subject, the role that people give to such columns, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from shoal.data.schema import Role


@dataclass(frozen=True)
class Subject:
    """A subject of columns: how names spell it, the role of such a column, and the reason in a few words.

    `phrases` are words that follow each other in a name; a word that ends in `*` stands for all that begin with it. `weight` says
    which subject wins where a name has several; between equals, the last words of a name do.
    """

    key: str
    role: Role
    reason: str
    phrases: tuple[tuple[str, ...], ...]
    weight: int = 5
    kind: str = ""
    """What the values are, where the subject says it: `number`, `count`, `money`, `code`, `date`, `name`, `text`, `flag`."""


def _subject(key: str, role: Role, reason: str, phrases: str, *, weight: int = 5, kind: str = "") -> Subject:
    split = tuple(tuple(phrase.split()) for phrase in phrases.split("|"))
    return Subject(key, role, reason, split, weight, kind)


_I, _Q, _C, _O, _W, _D = Role.IDENTIFIER, Role.QUASI, Role.CONFIDENTIAL, Role.OTHER, Role.WEIGHT, Role.DROP

SUBJECTS: tuple[Subject, ...] = (
    # --- identifiers ------------------------------------------------------------------------------------------------------
    _subject(
        "person name",
        _I,
        "names people",
        "nom de famille|nom de naissance|nom patient|nom du patient|cognome|achternaam|voornaam|familienaam|"
        "sobrenome|arzt|hausarzt|medecin|medecin traitant|"
        "familienname|geburtsname|zuname|rufname|ansprechpartner|"
        "first name|last name|full name|given name|family name|middle name|maiden name|surname|forename|firstname|"
        "lastname|fullname|fname|lname|mname|nachname|vorname|apellido*|nombre|prenom|nom famille|patient name|"
        "employee name|customer name|client name|student name|respondent name|contact name|person name|member name|"
        "user name|username|login|mother name|father name|spouse name|doctor name|physician name|initials|signature|kin|"
        "nickname|guardian name|teacher name|company name|firm name|owner name|applicant name|names",
        weight=9,
        kind="name",
    ),
    _subject("name", _I, "is a name", "nom|nome|naam|name", weight=2, kind="name"),
    _subject(
        "email",
        _I,
        "is an e-mail address",
        "courriel|correo|correo electronico|email*|e mail|mail|mailbox",
        weight=9,
        kind="name",
    ),
    _subject(
        "phone",
        _I,
        "is a telephone number",
        "telefoon*|movil|cellulare|rufnummer|"
        "phone*|telephone*|mobile|cellphone|cell phone|fax|tel|telefon*|handy|msisdn|phone number|mobile number|cell number",
        weight=9,
        kind="name",
    ),
    _subject(
        "address",
        _I,
        "is an address",
        "adresse*|anschrift|wohnadresse|direccion|indirizzo|adres|domicilio|domicile|endereco|"
        "address*|addr|street*|strasse|house number|house no|apartment|apt|addr line|calle|rue|home address|hausnummer",
        weight=8,
        kind="name",
    ),
    _subject(
        "official number",
        _I,
        "is a number that authorities or insurers give to people",
        "securite sociale|numero securite sociale|nir|nie|cedula|ahv nr|sozialvers nr|kv nummer|kvnr|"
        "versicherungs nummer|sozialversicherungs nummer|rentenversicherungs nummer|steuer nummer|steuer id|"
        "ausweis nummer|pass nummer|ahv nummer|svnr|kfz kennzeichen|"
        "ssn|social security|social security number|national id|national insurance|nino|passport*|nhs number|nhs no|nhs|"
        "nin|tax id|tin|mrn|medical record|medical record number|medicare*|medicaid id|insurance number|insurance no|"
        "insurance id|policy number|driver licence|driver license|drivers license|licence number|license number|"
        "license plate|number plate|plate|vin|fiscal code|codice fiscale|dni|nif|cpf|aadhaar|pesel|personnummer|bsn|curp|"
        "health card|chart number|chart no",
        weight=10,
        kind="name",
    ),
    _subject(
        "account",
        _I,
        "is an account number",
        "konto nummer|karten nummer|kreditkarten nummer|kontoinhaber|"
        "iban|bic|account number|account no|acct|acct no|account id|credit card|card number|card no|bank account|"
        "cc number|acctnum",
        weight=10,
        kind="name",
    ),
    _subject(
        "device",
        _I,
        "names a device or a place on the network",
        "ip|ip address|ip addr|mac address|imei|imsi|device id|serial number|serial no|cookie*|session id|url|website|"
        "homepage|twitter|facebook|instagram|linkedin|handle|user agent|advertising id",
        weight=9,
        kind="name",
    ),
    _subject(
        "coordinates",
        _I,
        "is a point on the map, as good as an address",
        "breitengrad|langengrad|laengengrad|geobreite|geolange|geolaenge|"
        "latitude|longitude|lat|lon|lng|gps|coordinates|geo|geocode|geolocation|easting|northing|geom|geometry|coord*",
        weight=8,
        kind="number",
    ),
    _subject(
        "picture",
        _I,
        "shows people or their bodies",
        "photo*|picture|image|fingerprint|biometric*|scan id|dna",
        weight=8,
    ),
    _subject(
        "person id",
        _I,
        "numbers people",
        "id patient|id paciente|numero patient|numero de paciente|numero paciente|matricule|matricola|"
        "historia clinica|n dossier|numero dossier|no dossier|num dossier|"
        "patient id|patient no|patient number|pat id|patid|patient|person id|pers id|person number|person no|personid|pid|"
        "employee id|employee number|employee no|emp id|emp no|empid|empno|emp num|staff id|worker id|student id|"
        "student no|student number|pupil id|customer id|customer number|customer no|cust id|custid|client id|"
        "client number|member id|member number|subject id|subject no|participant id|participant no|respondent id|resp id|"
        "respid|user id|userid|uid|individual id|indiv id|beneficiary id|bene id|subscriber id|applicant id|donor id|"
        "volunteer id|panelist id|child id|mother id|taxpayer id|inmate id|offender id|resident id|voter id|tenant id|"
        "driver id|passenger id|company id|firm id|enterprise id|study id|enrollee id|caseid|case id|idno|hospital number|"
        "hospital no",
        weight=9,
        kind="name",
    ),
    _subject(
        "household id",
        _I,
        "numbers households",
        "haushalts id|haushalt id|haushalts nummer|haushalt nummer|haushalts nr|haushalt nr|"
        "household id|hh id|hhid|family id|hh no|household number|household no|dwelling id|house id|hid|hhnum|hh num|idhh|"
        "fam id|serial",
        weight=9,
        kind="name",
    ),
    _subject(
        "record id",
        _I,
        "numbers records",
        "fall id|fall nummer|fall nr|aufnahme nummer|aufnahme nr|vorgangs nummer|vorgangs id|beleg nummer|"
        "rechnungs nummer|auftrags nummer|lfd nr|laufende nr|laufende nummer|lauf nummer|zeilen nummer|"
        "datensatz id|aktenzeichen|akten nummer|proben nummer|"
        "record id|record no|record number|rec id|rec no|recno|row id|row number|rownum|row no|row|index|idx|seq|seqno|"
        "sequence|seq no|sequence number|uuid|guid|key|pk|primary key|visit id|encounter id|admission id|event id|"
        "visit no|visit number|encounter no|encounter number|admission no|admission number|"
        "claim id|claim number|order id|order number|invoice id|invoice no|invoice number|transaction id|trans id|txn id|"
        "case number|case no|ticket id|booking id|sample id|specimen id|barcode|accession|accession number|response id|"
        "interview id|form id|questionnaire id|unnamed|document id|doc id|file number|file no|reference number|ref no|"
        "reference no|stay id|hadm id|episode id|spell id|prescription id",
        weight=8,
        kind="name",
    ),
    _subject("id", _I, "is an identifier", "nummer|id|ident|identifier|identification", weight=4, kind="name"),
    # --- quasi-identifiers -------------------------------------------------------------------------------------------------
    _subject(
        "age",
        _Q,
        "is an age",
        "eta|leeftijd|idade|"
        "age|ages|age years|age yrs|alter|edad|ageyrs|agep|age at admission|age at diagnosis|age at death|age in years|"
        "years old|age group|age band|age class|age cat|age range|agegrp|agegroup|agecat",
        weight=6,
        kind="number",
    ),
    _subject(
        "sex",
        _Q,
        "is the sex",
        "sesso|geslacht|geschl|sex|gender|geschlecht|sexo|sexe|sex code|gender code|gender identity",
        weight=6,
    ),
    _subject(
        "birth date",
        _Q,
        "is a date of birth",
        "date de naissance|date naissance|fecha de nacimiento|fecha nacimiento|data di nascita|data nascita|"
        "data de nascimento|geboortedatum|"
        "geburtstag|gebdat|geb datum|gebdatum|geb dat|"
        "dob|birth date|date of birth|birthdate|birthday|birth day|date birth|geburtsdatum|bdate|birthdt|birth dt|"
        "dateofbirth",
        weight=8,
        kind="date",
    ),
    _subject(
        "birth year",
        _Q,
        "is a year of birth",
        "birth year|year of birth|yob|birthyr|birth yr|geburtsjahr|year birth|birthyear|byear",
        weight=8,
        kind="year",
    ),
    _subject(
        "birth month", _Q, "is a month of birth", "birth month|month of birth|birth mon|mob", weight=8, kind="month"
    ),
    _subject(
        "birth place",
        _Q,
        "is a place of birth",
        "geburtsort|birth place|birthplace|place of birth|birth city|birth state|birth region|pob|bpl",
        weight=8,
    ),
    _subject(
        "country",
        _Q,
        "is a country",
        "nationalite|nacionalidad|cittadinanza|nationaliteit|paese|"
        "herkunftsland|geburtsland|nationalitat|nationalitaet|herkunft|"
        "country|country of birth|birth country|native country|country code|nation|nationality|citizenship|citizen|land|"
        "pais|pays|cob|country of residence|country origin|origin country|iso country|staat*|cntry|ctry|nativity",
        weight=6,
    ),
    _subject(
        "race",
        _Q,
        "is race or origin, which people see or know",
        "race|ethnicity|ethnic|ethnic group|hispanic|latino|hispan|ethnic origin|race code|racial|ancestry|tribe|caste|"
        "aboriginal|indigenous|raceth|hisp",
        weight=6,
    ),
    _subject(
        "migration",
        _Q,
        "is about migration, which those around a person know",
        "immigrant|immigration|migrant|migration|immigration status|visa|visa type|refugee|foreign born|year of arrival|"
        "residence permit",
    ),
    _subject(
        "language",
        _Q,
        "is a language",
        "muttersprache|language|mother tongue|lang|tongue|spoken language|sprache|langue",
    ),
    _subject(
        "postal code",
        _Q,
        "is a postal code",
        "zip|zip code|zipcode|postal code|postcode|post code|postal|plz|cp|code postal|zip 5|zip5|zip3|pin code|pincode|"
        "cap|eircode|postleitzahl",
        weight=8,
        kind="code",
    ),
    _subject(
        "city",
        _Q,
        "is a place",
        "comune|woonplaats|"
        "wohnort|"
        "city|town|municipality|village|place|commune|gemeinde|ort|stadt|ville|ciudad|municipio|locality|"
        "place of residence|settlement|suburb|residence|city code",
    ),
    _subject(
        "district",
        _Q,
        "is a small area",
        "landkreis|stadtteil|bezirk|gemeindeschlussel|gemeindeschluessel|gemeindekennziffer|"
        "county|district|borough|parish|neighborhood|neighbourhood|census tract|tract|block|block group|lsoa|msoa|oa|"
        "ward code|puma|precinct|subdistrict|kreis|arrondissement|comarca|fips|county code|catchment|cbsa|"
        "enumeration area|cluster|psu|primary sampling unit|geo id|geoid",
    ),
    _subject(
        "state",
        _Q,
        "is a state or province",
        "state|province|prov|bundesland|canton|kanton|departement|oblast|state code|statefip|state fips|state fip|"
        "state abbrev|provincia|state num",
        weight=5,
    ),
    _subject(
        "region",
        _Q,
        "is a region",
        "region|nuts|nuts 1|nuts 2|nuts 3|nuts1|nuts2|nuts3|area|zone|area code|area type|urban|rural|urbanicity|metro|"
        "metropolitan|msa|location|territory|degurba|urban rural|region code|geography|strata area|urbrur|continent|"
        "division",
    ),
    _subject(
        "marital",
        _Q,
        "is the marital status",
        "situation familiale|situation matrimoniale|etat civil|stato civile|burgerlijke staat|zivilstand|"
        "marital|marital status|marstat|civil status|maritalstatus|marst|married|familienstand|estado civil|spouse|"
        "partner|mar stat|ever married|marriage",
        weight=6,
    ),
    _subject(
        "education",
        _Q,
        "is the level of education",
        "niveau etudes|niveau d etudes|diplome|nivel de estudios|nivel educativo|titolo di studio|istruzione|"
        "opleiding|"
        "schulabschluss|bildungsabschluss|bildungsgrad|bildungsstand|schulbildung|abschluss|studienfach|"
        "studiengang|berufsausbildung|"
        "education|educ|edu|schooling|degree|qualification|qualif|isced|education level|education num|highest education|"
        "educ level|edlevel|schooling years|school level|grade level|bildung|attainment|educational attainment|"
        "highest degree|diploma|literacy|year of study|study year|class year|grade|school grade|major|field of study|"
        "faculty|course of study|program of study|hiqual|hi qual|highest qual|hqual|highest qualification|"
        "years of schooling|years of education|years schooling|years education|education years|years sch|yrs sch|yrs school|"
        "yrs educ|yrs edu|yrseduc|eduyears|eduyrs",
        weight=6,
    ),
    _subject(
        "occupation",
        _Q,
        "is what somebody works as",
        "metier|ocupacion|profesion|professione|beroep|profissao|"
        "tatigkeit|taetigkeit|berufsgruppe|"
        "occupation|occ|job|job title|jobtitle|profession|isco|isco 08|soc code|position|job role|job level|job code|"
        "job grade|beruf|kldb|trade|title|rank|job family|occupational group|pay grade|seniority|career level|job category|"
        "role|job class",
    ),
    _subject(
        "employment",
        _Q,
        "is where or how somebody works",
        "branche|arbeitgeber|beschaftigung*|beschaeftigung*|arbeitsverhaltnis|arbeitsverhaeltnis|"
        "erwerbstaetigkeit|"
        "erwerbsstatus|erwerbstatigkeit|wirtschaftszweig|wz|"
        "workclass|work class|employment|employment status|empstat|employer|industry|nace|naics|sic|sector|labor force|"
        "labour force|lfs|class of worker|work status|job status|employed|unemployed|self employed|full time|part time|"
        "contract|contract type|employment type|work schedule|branch|company size|activity status|econ activity|"
        "economic activity|ind code|work type|fulltime|parttime|worker class|empl|activity|organisation|organization|"
        "business unit|remote|shift|work location|office|company",
    ),
    _subject(
        "household",
        _Q,
        "describes a household, which neighbours know",
        "anzahl kinder|anzahl personen|haushaltsmitglieder|kinderanzahl|"
        "household size|hh size|hhsize|family size|famsize|children|num children|n children|nchild|kids|dependents|"
        "dependants|persons in household|household type|hh type|hhtype|family type|siblings|num persons|persons|adults|"
        "household members|number of children|nkids|parity|living arrangement|living alone|lives alone|"
        "household composition|family status|num kids|kinder|kinderzahl|haushaltsgrosse|haushaltsgroesse|haushaltstyp|"
        "personen im haushalt",
        kind="count",
    ),
    _subject(
        "relationship",
        _Q,
        "says who somebody is in a household",
        "relationship|relation|relate|relp|relation to head|relationship to head|household head|head of household|rel head",
    ),
    _subject(
        "dwelling",
        _Q,
        "describes a home, which neighbours see",
        "wohnform|wohnsituation|wohnflache|wohnflaeche|wohneigentum|anzahl zimmer|"
        "tenure|dwelling|dwelling type|housing|housing type|home ownership|homeownership|own home|owner|rooms|num rooms|"
        "bedrooms|building type|house type|vehicles|cars|num cars|car|car ownership|nrooms|own rent|floor|electricity|"
        "water source|roof|internet access|pets|garden",
    ),
    _subject(
        "military",
        _Q,
        "is about military service, which those around a person know",
        "veteran|military|military status|veteran status|vetstat|army",
    ),
    _subject(
        "body",
        _Q,
        "is about the body, which people see",
        "taille|talla|altezza|estatura|poids kg|peso kg|"
        "grosse|groesse|grosse cm|groesse cm|korpergrosse|koerpergroesse|korpergewicht|koerpergewicht|"
        "gewicht kg|gewicht in kg|weight in kg|augenfarbe|haarfarbe|"
        "height|height cm|body height|body weight|weight kg|weight lb|weight lbs|eye color|eye colour|hair color|"
        "hair colour|hair|eyes|skin color|skin colour|shoe size|handedness|stature|birth weight|birthweight|"
        "gestational age|gestation*|twins|multiple birth|plurality|left handed",
        weight=7,
    ),
    _subject(
        "insurance",
        _Q,
        "is about insurance, which offices and families know",
        "krankenversicherung|krankenkasse|versicherung|versicherungsart|versicherungsstatus|kostentrager|"
        "kostentraeger|"
        "insurance|insurance type|payer|payor|insurer|health insurance|coverage|insurance status|medicaid|insured|"
        "health plan|plan type",
    ),
    _subject(
        "facility",
        _Q,
        "is about an institution, so it tells where somebody was",
        "station|abteilung|fachabteilung|klinik|krankenhaus|schule|einrichtung|standort|filiale|kostenstelle|"
        "aufnahmeart|entlassungsart|"
        "hospital|clinic|ward|facility|site|center|centre|provider|hospital id|facility id|site id|school|school id|"
        "university|college|department|dept|unit|practice|institution|provider id|hospital code|school code|campus|store|"
        "store id|branch id|location id|department id|dept id|team|physician id|doctor id|manager id|teacher id|class id|"
        "course id|employer id|interviewer id|interviewer|center id|hospital type|school type|admission source|"
        "admission type|referral source|discharge destination|discharge disposition|discharge to|prison|specialty|"
        "speciality|attending|room|bed|division id|supervisor|supervisor id|stratum|strata",
        weight=7,
    ),
    _subject(
        "event date",
        _Q,
        "is a date that others may know",
        "admission date|discharge date|visit date|date of visit|admit date|admitdate|dischdate|date of death|death date|"
        "dod|hire date|hiredate|start date|end date|termination date|date|event date|appointment date|interview date|"
        "date of interview|service date|order date|exam date|enrollment date|enrolment date|registration date|"
        "procedure date|surgery date|diagnosis date|test date|accident date|crash date|application date|date of admission|"
        "date of discharge|admission|discharge|visit|joined|dt|datum|fecha|survey date|purchase date|graduation date|"
        "wedding date|marriage date|last visit|entry date|exit date|collection date|vaccination date|issue date|due date|"
        "claim date|onset date|symptom onset|arrival|departure|arrival time|departure time|admission time|discharge time|"
        "admit time|time of death|follow up date|date of birth child|begin date|since|joining date",
        weight=7,
        kind="date",
    ),
    _subject(
        "timestamp",
        _Q,
        "is a moment",
        "startzeit|endzeit|uhrzeit|timestamp|datetime|time|at|ts|date time|event time|moment|zeitpunkt",
        weight=3,
        kind="date",
    ),
    _subject(
        "year",
        _Q,
        "is a year",
        "year|yr|jahr|ano|annee|survey year|calendar year|fiscal year|wave year|yrs|cohort",
        weight=4,
        kind="year",
    ),
    _subject(
        "month",
        _Q,
        "is a month",
        "month|mon|mth|monat|mes|mois|admission month|death month|death mon",
        weight=5,
        kind="month",
    ),
    _subject(
        "wave",
        _Q,
        "is a wave of a survey, which is on record",
        "wave|survey wave|panel wave|interview wave|survey round|welle|erhebungswelle|vague|ola|ondata",
        weight=4,
        kind="number",
    ),
    _subject("quarter", _Q, "is a quarter of a year", "quarter|qtr|quartal", weight=4, kind="number"),
    _subject("week", _Q, "is a week", "week|epiweek|week number|week of year|iso week", weight=4, kind="number"),
    _subject(
        "weekday",
        _Q,
        "is a day of the week",
        "weekday|day of week|dow|day name|wochentag|dayofweek|day week|week day",
        weight=6,
        kind="number",
    ),
    _subject("day", _Q, "is a day", "day|day of month|tag|dia|jour|death day", weight=4, kind="number"),
    _subject(
        "hour",
        _Q,
        "is an hour of the day",
        "hour|hr of day|time of day|hour of day|crash hour|stunde",
        weight=4,
        kind="number",
    ),
    _subject(
        "stay",
        _Q,
        "is the length of a stay, which visitors know",
        "verweildauer|liegedauer|liegetage|aufenthaltsdauer|verweildauer tage|"
        "los|length of stay|stay length|days in hospital|time in hospital|lengthofstay|duration of stay|stay days|icu days|"
        "hospital days",
        weight=8,
        kind="count",
    ),
    _subject(
        "tenure years",
        _Q,
        "is a length of service, which colleagues know",
        "years at company|emp length|employment length|years of service|seniority years|length of service|"
        "years employed|job tenure|tenure years|"
        "years experience|experience years|years in role|total working years|service years|work experience|experience|"
        "tenure months|years in job|tenure yrs|tenure m|tenure mths|months in job|months employed|months with employer",
        weight=8,
        kind="count",
    ),
    # --- confidential ------------------------------------------------------------------------------------------------------
    _subject(
        "diagnosis",
        _C,
        "is about health",
        "diagnostic|diagnostico|diagnosi|maladie|enfermedad|"
        "diagnose*|hauptdiagnose*|nebendiagnose*|krankheit*|vorerkrankung*|erkrankung*|behinderung*|"
        "schwerbehinderung|pflegegrad|pflegestufe|gesundheit*|beschwerden|schmerz*|todesursache|"
        "diagnosis|diagnoses|diag|dx|hlth|icd|icd 10|icd10|icd 9|icd9|icd code|disease|diseases|illness|condition|"
        "conditions|"
        "disorder|symptom*|comorbid*|charlson|cancer*|tumor|tumour|stage|hiv|aids|std|sti|diabetes|diabetic|asthma|copd|"
        "stroke|hypertension|depress*|anxiety|mental|psych*|dementia|epilepsy|infection|infected|covid|hepatitis|"
        "tuberculosis|tb|cause of death|death cause|morbidity|drg|primary diagnosis|main diagnosis|secondary diagnosis|"
        "principal diagnosis|diagnosis code|health|health status|general health|self rated health|health problem|chronic*|"
        "heart*|cardiac|kidney|liver|lung|injury|injury severity|injured|severity|triage|acuity|apgar|pregnan*|abortion|"
        "miscarriage|contracept*|fertility|menopause|allergy|allergies|disab*|impairment|handicap|adl|frailty|pain|"
        "suicid*|addiction|addict|overdose|trauma|fracture|malaria|anemia|anaemia|obesity|limiting illness|"
        "long term illness|longill|long ill|longstanding illness|long standing illness|lltill|"
        "autism|adhd|genetic|mutation|gene|genotype|blood type|blood group|blood",
        weight=7,
    ),
    _subject(
        "treatment",
        _C,
        "is about health",
        "behandlung*|medikament*|medikation|wirkstoff|therapie|impfung*|impfstatus|eingriff|"
        "treatment|treatments|therapy|proc|proc code|antidepress*|antibiotic*|antipsych*|opioid*|statin*|medication*|"
        "medicine|drug|drugs|"
        "drug name|prescription|dose|dosage|procedure|procedures|surgery|operation|vaccin*|immuniz*|intervention|icu|"
        "ventilat*|cpt|cpt code|atc|atc code|num medications|num procedures|num lab procedures|number inpatient|"
        "number emergency|number outpatient|readmi*|readmission|hospitalized|hospitalised|visits|doctor visits|er visits|"
        "outcome|discharge status|mortality|died|death|dead|deceased|survival|survived|alive|vital status|"
        "status at discharge|therapist|counseling|insulin|metformin|chemo*|radiation|arm|trial arm|treatment arm|"
        "complication*|relapse|adverse event|transfusion|dialysis",
        weight=7,
    ),
    _subject(
        "measurement",
        _C,
        "is a measurement of the body",
        "blutdruck|blutzucker|cholesterin|korpertemperatur|koerpertemperatur|laborwert*|"
        "lab|lab result|test result|result|results|glucose|cholesterol|hdl|ldl|triglycerides|blood pressure|bp|systolic|"
        "diastolic|sbp|dbp|bmi|body mass index|hba1c|hb a1c|a1c|creatinine|hemoglobin|haemoglobin|heart rate|pulse|"
        "temperature|temp|spo2|oxygen|psa|egfr|gfr|platelets|wbc|rbc|sodium|potassium|urea|bun|albumin|bilirubin|crp|"
        "troponin|iq|lung function|fev1|hematocrit|lactate|vitamin d|viral load|cd4|waist|waist circumference|"
        "respiratory rate|resp rate|gcs|t score|hdl cholesterol|ecg|ekg",
        weight=7,
        kind="number",
    ),
    _subject(
        "habit",
        _C,
        "is about habits, which people keep to themselves",
        "rauch*|raucher*|raucht|zigaretten|alkohol*|"
        "smok*|tobacco|cigarette*|alcohol|drink*|drinker|drug use|over counter|substance|substance use|cannabis|marijuana|"
        "exercise|physical activity|diet|sleep|gambl*|vaping|screen time|drinks per week|packs|pack years|sexual activity|"
        "partners|num partners|condom|seatbelt|seat belt|sexual partners",
        weight=7,
    ),
    _subject(
        "belief",
        _C,
        "is about belief, politics or sexuality, special categories of personal data",
        "konfession|partei|parteipraferenz|parteipraeferenz|gewerkschaft*|glaube|wahlabsicht|"
        "sexuelle orientierung|"
        "religion|religious|faith|church|denomination|relig|political|politics|party|vote|voted|voting|ideology|union|"
        "union member|trade union|sexual orientation|orientation|lgbt*|sexuality|political party|political view|"
        "political views|left right|confession",
        weight=8,
    ),
    _subject(
        "justice",
        _C,
        "is about crime or law",
        "crime|criminal|offence|offense|conviction|convicted|arrest|arrests|arrested|prison sentence|sentence|victim|"
        "violence|abuse|charge type|recidivism|recid|prior arrests|priors|priors count|criminal record|felony|verdict|"
        "police|complaint|complaints|disciplinary|warning|warnings|fraud|is fraud|default|defaulted|bankrupt*|bad loan|"
        "delinq*|eviction|harassment",
        weight=7,
    ),
    _subject(
        "income",
        _C,
        "is about money",
        "salaire|salario|reddito|stipendio|inkomen|revenus|"
        "income|incomes|inc|salary|salaries|salary class|wage|wages|earning*|pay|bonus|compensation|remuneration|"
        "monthly income|annual income|household income|hh income|hhinc|hhincome|net income|gross income|hourly rate|"
        "hourly wage|stipend|tips|income class|income group|income bracket|ern|ernval|wsal|wsalval|pearnval|ptotval|"
        "pothval|intval|agi|taxinc|incwage|inctot|pincp|pernp|wagp|gehalt|einkommen|nettoeinkommen|bruttoeinkommen|"
        "haushaltseinkommen|lohn|sueldo|ingreso*|renta|revenu|"
        "capital gain|capital gains|capital loss|dividend*|interest|pension|retirement|benefit|benefits|welfare|allowance|"
        "subsidy|unemployment benefit|social assistance|food stamps|snap|pay rate|base pay|overtime|over time|"
        "overtime pay|stock option*|equity|monthly rate|daily rate|percent salary hike|salary hike|raise|poverty|"
        "poverty status|sal|totval|earnval|wage per hour|fica|emcontrb|contribution*|severance|commission|net worth",
        weight=7,
        kind="money",
    ),
    _subject(
        "money",
        _C,
        "is about money",
        "kosten|behandlungskosten|preis|betrag|umsatz|vermogen|vermoegen|schulden|kredit*|beitrag|gebuhr|"
        "gebuehr|rechnungsbetrag|rente|"
        "miete|kaltmiete|warmmiete|"
        "rent|mortgage|wealth|asset|assets|debt|debts|loan|loan amount|loan status|balance|credit|credit score|"
        "credit amount|credit limit|credit rating|fico|tax|taxes|expend*|expense*|spend|spending|spent|cost|costs|charge|"
        "charges|total charges|price|amount|amt|revenue*|sales|turnover|profit*|capital|fund|funds|depreciation|savings|"
        "payment*|paid|deposit|investment*|value|val|property value|house value|home value|insurance cost|premium|"
        "claim amount|budget|fee|fees|donation|consumption|treasury|liabilities|equity value|cash|installment|purchase|"
        "purchases|purchase amount|order value|transaction amount|monthly charges|total spend|bill|bill amt|pay amt|"
        "billing|copay|reimburs*|turnover amount|financial outcome|outcome financial|basket",
        weight=6,
        kind="money",
    ),
    _subject(
        "performance",
        _C,
        "is a judgement of a person",
        "bewertung|leistung|fehltage|krankheitstage|abschlussnote|schulnote|"
        "score|scores|gpa|mark|marks|exam|exam score|test score|grade average|final grade|performance|performance rating|"
        "rating|evaluation|appraisal|assessment|absence|absences|absenteeism|sick leave|sick days|days absent|attrition|"
        "turnover flag|terminated|termination|termination reason|left company|promotion*|promoted|rank score|math|reading|"
        "writing|math score|reading score|grades|passed|pass|result exam|points|sat|act score|gre|percentile|engagement|"
        "potential|productivity|leave reason|dropout|dropped out|graduated|failures|overtime hours|late arrivals|"
        "suspension|suspended|cgpa|credits earned|exit reason|reason for leaving|churn|churned",
        weight=6,
    ),
    _subject(
        "opinion",
        _C,
        "is an opinion or a feeling",
        "zufrieden*|zufriedenheit*|lebenszufriedenheit|arbeitszufriedenheit|meinung*|vertrauen|"
        "satisf*|satisfaction|opinion*|attitude*|trust|happy|happiness|life satisfaction|wellbeing|well being|stress|"
        "burnout|motivation|agree*|agreement|likert|feel*|feeling*|belief*|prefer*|preference|importance|nps|loneliness|"
        "job satisfaction|worry|fear|sentiment|environment satisfaction|relationship satisfaction|work life balance|"
        "job involvement|mood|hope|interest in politics|self esteem|quality of life|qol|phq|gad|who 5|optimism|"
        "support for|approve*|approval|importance of",
        weight=7,
    ),
    _subject(
        "hours",
        _C,
        "is about work or time use",
        "wochenstunden|arbeitsstunden|arbeitszeit|pendelzeit|"
        "hours|hours per week|work hours|working hours|weekly hours|hrs|hours worked|standard hours|hour per week|commute|"
        "commute time|commuting|distance from home|travel time|minutes|weeks worked|days worked|wkswork|uhrswork|time use|"
        "study time|studytime|training hours|training times",
        weight=6,
        kind="number",
    ),
    # --- weights, remarks, technical columns ------------------------------------------------------------------------------
    _subject(
        "weight",
        _W,
        "is a survey weight",
        "poids sondage|ponderation|coefficient ponderation|ponderacion|"
        "wgt|wt|fnlwgt|afnlwgt|weighting|sample weight|sampling weight|survey weight|final weight|person weight|"
        "household weight|pweight|perwt|hhwt|wtfinl|asecwt|pwgtp|finalwt|finalweight|weights|expansion factor|expansion|"
        "grossing|design weight|analysis weight|post weight|normalized weight|instwt|hhweight|wtsamp|wtmec|llcpwt|dweight|"
        "pspwght|pweight|gewichtung|gewichtungsfaktor|hochrechnungsfaktor|hochrechnung|"
        "factor expansion|rweight|replicate weight|weight final|wt final|weight person|"
        "weight household|weight hh|weight design|weight sample|weight survey|calibrated weight|hrfactor|fexp|case weight|"
        "cross weight|longitudinal weight|inverse probability weight|ipw",
        weight=9,
        kind="number",
    ),
    _subject("weight or body weight", _W, "is called a weight", "weight|gewicht|poids|peso", weight=3, kind="number"),
    _subject(
        "remark",
        _D,
        "is free text, in which people write what nobody foresees",
        "opmerking*|osservazioni|observacion*|remarque*|"
        "kommentar*|anmerkung*|freitext*|notiz*|beschreibung|"
        "comment*|note|notes|remark*|free text|freetext|narrative|description|memo|feedback|review text|message|explain|"
        "specify|other specify|clinical notes|text|verbatim|open ended|observations|bemerkung*|observaciones|"
        "history of present illness|bio|summary|details|chief complaint|other text|additional information",
        weight=6,
        kind="text",
    ),
    _subject(
        "technical",
        _D,
        "was written by a program and says nothing of people",
        "erstellt am|geandert am|geaendert am|angelegt am|"
        "created at|updated at|modified at|created|updated|modified|inserted at|load date|loaded at|etl|batch|batch id|"
        "last modified|last updated|created by|updated by|modified by|checksum|version|source file|filename|file name|"
        "import date|imported|extract date|row hash|md5|sha256|hash|created date|updated date|modified date|last update|"
        "deleted at|insert date|system*|sysdate|audit|data source|load timestamp|ingest*|record version",
        weight=9,
        kind="technical",
    ),
)

GENERIC = frozenset(
    "code codes cd num number no nr group grp cat category class type flag ind indicator desc description label text name value "
    "val var variable the of in at for is has had was a an total tot n cur current new old primary main first last status level "
    "recode rec r raw orig x y z i q".split()
)
"""Words that say how a column is written, not what it is about."""

COUNTING = frozenset(
    "num number n count cnt no total nb how many times qty quantity freq days hours weeks months years minutes".split()
)
"""Words of columns that count something."""
CODED = frozenset(
    "code codes cd type class cat category group grp status flag ind indicator level id fips icd isco nace naics sic kind method "
    "mode source reason role sector branch recode".split()
)
"""Words of columns whose numbers are codes."""
ITEMS = frozenset("q question item scale rating likert agree satisfaction satisf score level importance".split())
"""Words of questions that are answered on a scale."""


@cache
def vocabulary() -> frozenset[str]:
    """All words of all subjects, by which glued words are taken apart."""
    words = {word.rstrip("*") for subject in SUBJECTS for phrase in subject.phrases for word in phrase}
    extra = "fed total tot res com ind oth othr pat emp hh per pers fam ever curr prev mean max min avg std mother father mom dad"
    return frozenset({word for word in words | GENERIC | set(extra.split()) if len(word) > 1 and word.isalpha()})


_CALENDAR = frozenset({"date", "year", "month", "day", "hour", "week", "weekday", "quarter", "age"})
"""What a name that ends so is, whatever stands before: the year of a diagnosis is a year."""


_PEOPLE = (
    "patient person pers pat individual indiv employee emp staff worker student pupil customer cust client member "
    "subject participant respondent resp user beneficiary bene subscriber applicant donor volunteer panelist child "
    "mother father taxpayer inmate offender resident voter tenant driver passenger company firm enterprise enrollee "
    "insured policyholder guest visitor contact author owner borrower debtor defendant victim suspect witness player "
    "athlete citizen holder case account profile "
    "patienten versicherten kunden mitarbeiter personal mitglied mitglieds personen teilnehmer probanden bewohner schuler "
    "schueler studierenden matrikel nutzer befragten klienten bewerber"
).split()
_NUMBERING = "id no nr number num nummer key code identifier ids kennung".split()


@cache
def _phrases() -> tuple[tuple[tuple[str, ...], Subject], ...]:
    person = next(subject for subject in SUBJECTS if subject.key == "person id")
    numbered = [((who, number), person) for who in _PEOPLE for number in _NUMBERING]
    return (*((phrase, subject) for subject in SUBJECTS for phrase in subject.phrases), *numbered)


@cache
def _phrases_by_letter() -> dict[str, list[int]]:
    """The places in the list of the phrases that begin with each letter."""
    found: dict[str, list[int]] = {}
    for place, (phrase, _) in enumerate(_phrases()):
        found.setdefault(phrase[0][:1], []).append(place)
    return found


def subjects_of(words: tuple[str, ...]) -> list[Subject]:
    """The subjects that the words of a name speak of, the likeliest first.

    What a name ends with weighs more, and so does what stands before `of`, `at` or `per`: a year of diagnosis is a year, drinks
    per week are drinks.

    >>> [subject.key for subject in subjects_of(("year", "of", "diagnosis"))][:1]
    ['year']
    """
    found: dict[Subject, tuple[int, int, int]] = {}
    for subject, phrase, start in _matches(words):
        end = start + len(phrase)
        timed = subject.kind in _CALENDAR or subject.key in _CALENDAR
        if timed and start > 0 and words[start - 1].isdigit():  # 2yrs is a span
            continue
        before = end < len(words) and words[end] in ("of", "at")
        after = start > 0 and "per" in words[:start]
        rank = (
            3 * len(phrase) + subject.weight + 4 * (timed and (before or end == len(words))) - 8 * after,
            end,
            len(phrase),
        )
        found[subject] = max(rank, found.get(subject, rank))
    return sorted(found, key=lambda subject: found[subject], reverse=True)


def subject_of(words: tuple[str, ...]) -> Subject | None:
    """The likeliest subject that the words of a name speak of; None where they speak of none.

    >>> subject_of(("zip", "code")).key, subject_of(("xyz",))
    ('postal code', None)
    """
    return next(iter(subjects_of(words)), None)


def _matches(words: tuple[str, ...]) -> Iterator[tuple[Subject, tuple[str, ...], int]]:
    """The phrases that stand in a name, in the order of the list, each with its subject and where it begins."""
    begun = _phrases_by_letter()
    places = sorted((place, start) for start, word in enumerate(words) for place in begun.get(word[:1], ()))
    for place, start in places:
        phrase, subject = _phrases()[place]
        own = words[start : start + len(phrase)]
        if len(own) == len(phrase) and all(map(_is, own, phrase)):
            yield subject, phrase, start


def _is(word: str, known: str) -> bool:
    return word.startswith(known[:-1]) if known.endswith("*") else word == known
