"""Countries by ISO 3166-1 code and by name, with the region and the continent of each."""

from __future__ import annotations

from shoal.draft.codes.table import CodeList, Labels, listed

_REGIONS = """
Northern Africa, Africa: DZ DZA 012 Algeria | EG EGY 818 Egypt | LY LBY 434 Libya | MA MAR 504 Morocco |
SD SDN 729 Sudan | TN TUN 788 Tunisia | EH ESH 732 Western Sahara
Eastern Africa, Africa: BI BDI 108 Burundi | KM COM 174 Comoros | DJ DJI 262 Djibouti | ER ERI 232 Eritrea |
ET ETH 231 Ethiopia | KE KEN 404 Kenya | MG MDG 450 Madagascar | MW MWI 454 Malawi | MU MUS 480 Mauritius |
YT MYT 175 Mayotte | MZ MOZ 508 Mozambique | RE REU 638 Reunion | RW RWA 646 Rwanda | SC SYC 690 Seychelles |
SO SOM 706 Somalia | SS SSD 728 South Sudan | UG UGA 800 Uganda | TZ TZA 834 Tanzania | ZM ZMB 894 Zambia |
ZW ZWE 716 Zimbabwe | IO IOT 086 British Indian Ocean Territory | TF ATF 260 French Southern Territories
Middle Africa, Africa: AO AGO 024 Angola | CM CMR 120 Cameroon | CF CAF 140 Central African Republic |
TD TCD 148 Chad | CG COG 178 Congo | CD COD 180 Democratic Republic of the Congo | GQ GNQ 226 Equatorial Guinea |
GA GAB 266 Gabon | ST STP 678 Sao Tome and Principe
Southern Africa, Africa: BW BWA 072 Botswana | SZ SWZ 748 Eswatini | LS LSO 426 Lesotho | NA NAM 516 Namibia |
ZA ZAF 710 South Africa
Western Africa, Africa: BJ BEN 204 Benin | BF BFA 854 Burkina Faso | CV CPV 132 Cabo Verde |
CI CIV 384 Cote d'Ivoire | GM GMB 270 Gambia | GH GHA 288 Ghana | GN GIN 324 Guinea | GW GNB 624 Guinea-Bissau |
LR LBR 430 Liberia | ML MLI 466 Mali | MR MRT 478 Mauritania | NE NER 562 Niger | NG NGA 566 Nigeria |
SN SEN 686 Senegal | SL SLE 694 Sierra Leone | TG TGO 768 Togo | SH SHN 654 Saint Helena
Caribbean, Americas: AI AIA 660 Anguilla | AG ATG 028 Antigua and Barbuda | AW ABW 533 Aruba | BS BHS 044 Bahamas |
BB BRB 052 Barbados | BQ BES 535 Bonaire, Sint Eustatius and Saba | VG VGB 092 British Virgin Islands |
KY CYM 136 Cayman Islands | CU CUB 192 Cuba | CW CUW 531 Curacao | DM DMA 212 Dominica |
DO DOM 214 Dominican Republic | GD GRD 308 Grenada | GP GLP 312 Guadeloupe | HT HTI 332 Haiti | JM JAM 388 Jamaica |
MQ MTQ 474 Martinique | MS MSR 500 Montserrat | PR PRI 630 Puerto Rico | BL BLM 652 Saint Barthelemy |
KN KNA 659 Saint Kitts and Nevis | LC LCA 662 Saint Lucia | MF MAF 663 Saint Martin |
VC VCT 670 Saint Vincent and the Grenadines | SX SXM 534 Sint Maarten | TT TTO 780 Trinidad and Tobago |
TC TCA 796 Turks and Caicos Islands | VI VIR 850 United States Virgin Islands
Central America, Americas: BZ BLZ 084 Belize | CR CRI 188 Costa Rica | SV SLV 222 El Salvador |
GT GTM 320 Guatemala | HN HND 340 Honduras | MX MEX 484 Mexico | NI NIC 558 Nicaragua | PA PAN 591 Panama
South America, Americas: AR ARG 032 Argentina | BO BOL 068 Bolivia | BR BRA 076 Brazil | CL CHL 152 Chile |
CO COL 170 Colombia | EC ECU 218 Ecuador | FK FLK 238 Falkland Islands | GF GUF 254 French Guiana |
GY GUY 328 Guyana | PY PRY 600 Paraguay | PE PER 604 Peru | GS SGS 239 South Georgia and the South Sandwich Islands |
SR SUR 740 Suriname | UY URY 858 Uruguay | VE VEN 862 Venezuela | BV BVT 074 Bouvet Island
Northern America, Americas: BM BMU 060 Bermuda | CA CAN 124 Canada | GL GRL 304 Greenland |
PM SPM 666 Saint Pierre and Miquelon | US USA 840 United States
Central Asia, Asia: KZ KAZ 398 Kazakhstan | KG KGZ 417 Kyrgyzstan | TJ TJK 762 Tajikistan | TM TKM 795 Turkmenistan |
UZ UZB 860 Uzbekistan
Eastern Asia, Asia: CN CHN 156 China | HK HKG 344 Hong Kong | MO MAC 446 Macao | KP PRK 408 North Korea |
JP JPN 392 Japan | MN MNG 496 Mongolia | KR KOR 410 South Korea | TW TWN 158 Taiwan
South-eastern Asia, Asia: BN BRN 096 Brunei | KH KHM 116 Cambodia | ID IDN 360 Indonesia | LA LAO 418 Laos |
MY MYS 458 Malaysia | MM MMR 104 Myanmar | PH PHL 608 Philippines | SG SGP 702 Singapore | TH THA 764 Thailand |
TL TLS 626 Timor-Leste | VN VNM 704 Vietnam
Southern Asia, Asia: AF AFG 004 Afghanistan | BD BGD 050 Bangladesh | BT BTN 064 Bhutan | IN IND 356 India |
IR IRN 364 Iran | MV MDV 462 Maldives | NP NPL 524 Nepal | PK PAK 586 Pakistan | LK LKA 144 Sri Lanka
Western Asia, Asia: AM ARM 051 Armenia | AZ AZE 031 Azerbaijan | BH BHR 048 Bahrain | CY CYP 196 Cyprus |
GE GEO 268 Georgia | IQ IRQ 368 Iraq | IL ISR 376 Israel | JO JOR 400 Jordan | KW KWT 414 Kuwait |
LB LBN 422 Lebanon | OM OMN 512 Oman | QA QAT 634 Qatar | SA SAU 682 Saudi Arabia | PS PSE 275 Palestine |
SY SYR 760 Syria | TR TUR 792 Turkey | AE ARE 784 United Arab Emirates | YE YEM 887 Yemen
Eastern Europe, Europe: BY BLR 112 Belarus | BG BGR 100 Bulgaria | CZ CZE 203 Czechia | HU HUN 348 Hungary |
PL POL 616 Poland | MD MDA 498 Moldova | RO ROU 642 Romania | RU RUS 643 Russia | SK SVK 703 Slovakia |
UA UKR 804 Ukraine
Northern Europe, Europe: AX ALA 248 Aland Islands | DK DNK 208 Denmark | EE EST 233 Estonia |
FO FRO 234 Faroe Islands | FI FIN 246 Finland | GG GGY 831 Guernsey | IS ISL 352 Iceland | IE IRL 372 Ireland |
IM IMN 833 Isle of Man | JE JEY 832 Jersey | LV LVA 428 Latvia | LT LTU 440 Lithuania | NO NOR 578 Norway |
SJ SJM 744 Svalbard and Jan Mayen | SE SWE 752 Sweden | GB GBR 826 United Kingdom
Southern Europe, Europe: AL ALB 008 Albania | AD AND 020 Andorra | BA BIH 070 Bosnia and Herzegovina |
HR HRV 191 Croatia | GI GIB 292 Gibraltar | GR GRC 300 Greece | VA VAT 336 Vatican | IT ITA 380 Italy |
MT MLT 470 Malta | ME MNE 499 Montenegro | MK MKD 807 North Macedonia | PT PRT 620 Portugal | SM SMR 674 San Marino |
RS SRB 688 Serbia | SI SVN 705 Slovenia | ES ESP 724 Spain
Western Europe, Europe: AT AUT 040 Austria | BE BEL 056 Belgium | FR FRA 250 France | DE DEU 276 Germany |
LI LIE 438 Liechtenstein | LU LUX 442 Luxembourg | MC MCO 492 Monaco | NL NLD 528 Netherlands |
CH CHE 756 Switzerland
Australia and New Zealand, Oceania: AU AUS 036 Australia | NZ NZL 554 New Zealand | CX CXR 162 Christmas Island |
CC CCK 166 Cocos Islands | NF NFK 574 Norfolk Island | HM HMD 334 Heard Island and McDonald Islands
Melanesia, Oceania: FJ FJI 242 Fiji | NC NCL 540 New Caledonia | PG PNG 598 Papua New Guinea |
SB SLB 090 Solomon Islands | VU VUT 548 Vanuatu
Micronesia, Oceania: GU GUM 316 Guam | KI KIR 296 Kiribati | MH MHL 584 Marshall Islands | FM FSM 583 Micronesia |
NR NRU 520 Nauru | MP MNP 580 Northern Mariana Islands | PW PLW 585 Palau |
UM UMI 581 United States Minor Outlying Islands
Polynesia, Oceania: AS ASM 016 American Samoa | CK COK 184 Cook Islands | PF PYF 258 French Polynesia |
NU NIU 570 Niue | PN PCN 612 Pitcairn | WS WSM 882 Samoa | TK TKL 772 Tokelau | TO TON 776 Tonga |
TV TUV 798 Tuvalu | WF WLF 876 Wallis and Futuna
Antarctica, Antarctica: AQ ATA 010 Antarctica
"""

_ALSO = """
Northern Europe, Europe: England | Scotland | Wales | Northern Ireland | Great Britain | UK | Britain
Northern America, Americas: USA | US | United States of America | America | Outlying US Guam USVI etc
Western Europe, Europe: Holland | Holand Netherlands | The Netherlands | West Germany | Germany East | Deutschland
Southern Europe, Europe: Yugoslavia | Macedonia | Kosovo | Bosnia | Serbia and Montenegro | Vatican City | Holy See
Eastern Europe, Europe: USSR | Soviet Union | Czechoslovakia | Czech Republic | Russian Federation | Republic of Moldova
Eastern Asia, Asia: Hong | Korea | Republic of Korea | Macau | Taiwan Province of China
South-eastern Asia, Asia: Viet Nam | Burma | East Timor | Lao | Brunei Darussalam
Southern Asia, Asia: Iran Islamic Republic of | Persia | Ceylon
Western Asia, Asia: Turkiye | Syrian Arab Republic | State of Palestine | UAE | Palestinian Territory
Western Africa, Africa: Ivory Coast | Cape Verde | The Gambia
Southern Africa, Africa: Swaziland
Middle Africa, Africa: Zaire | DR Congo | Congo Kinshasa | Congo Brazzaville
Eastern Africa, Africa: United Republic of Tanzania
Caribbean, Americas: Trinadad Tobago | Trinidad Tobago | Virgin Islands | Dominican Rep
South America, Americas: Columbia | Bolivia Plurinational State of | Venezuela Bolivarian Republic of
"""


def _entries() -> tuple[dict[str, Labels], dict[str, Labels], dict[str, Labels], dict[str, Labels]]:
    """The regions by two letters, three letters, number and name."""
    two: dict[str, Labels] = {}
    three: dict[str, Labels] = {}
    number: dict[str, Labels] = {}
    name: dict[str, Labels] = {}
    for region, members in _blocks(_REGIONS):
        for member in members:
            first, second, third, called = member.split(" ", 3)
            two[first] = three[second] = number[third] = name[called] = region
    for region, members in _blocks(_ALSO):
        name |= dict.fromkeys(members, region)
    return two, three, number, name


def _blocks(text: str) -> list[tuple[Labels, list[str]]]:
    found: list[tuple[Labels, list[str]]] = []
    for line in text.strip().split("\n"):
        head, colon, rest = line.partition(": ")
        if colon:
            found.append((tuple(head.split(", ")), []))
        found[-1][1].extend(part.strip() for part in (rest if colon else line).split("|") if part.strip())
    return found


_TWO, _THREE, _NUMBER, _NAME = _entries()

COUNTRIES: tuple[CodeList, ...] = (
    listed(
        "iso-3166-2-letters",
        "countries in two letters (ISO 3166-1)",
        "country",
        _TWO,
        complete=True,
        least=12,
        spelled=False,
    ),
    listed(
        "iso-3166-3-letters",
        "countries in three letters (ISO 3166-1)",
        "country",
        _THREE,
        complete=True,
        least=5,
        spelled=False,
    ),
    listed(
        "iso-3166-numbers",
        "countries in three digits (ISO 3166-1)",
        "country",
        _NUMBER,
        complete=True,
        spelled=False,
    ),
    listed("country-names", "names of countries", "country", _NAME, least=3, share=0.7),
)
"""The ways to write a country, those that are told apart most surely first."""
