import pytest
from time_readings import NOW, read

from memsense.search.question.time.engine import find_intervals


# Asked on Friday, 27 November 2026.
@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("Was habe ich am 5. November gemacht?", "2026-11-05"),
        ("Was habe ich am Montag gegessen?", "2026-11-23"),
        ("Was war am dritten Mai?", "2026-05-03"),
        ("Was war in KW 23?", "2026-06-01 to 2026-06-07"),
        ("Was war im Monat Mai 2024?", "2024-05-01 to 2024-05-31"),
        ("Was war letzten Montagabend?", "2026-11-23"),
        ("Was haben wir vor drei Tagen gemacht?", "2026-11-24"),
        ("Was habe ich vor vierzehn Tagen gemacht?", "2026-11-13"),
        ("Was habe ich vor einem halben Jahr gemacht?", "2026-05-01 to 2026-05-31"),
        ("Was las ich in den Neunzigern?", "1990-01-01 to 1999-12-31"),
        ("Was war in den 90er Jahren?", "1990-01-01 to 1999-12-31"),
        ("Was war neulich?", "2026-11-13 to 2026-11-26"),
        ("Wo war ich an Ostern?", "2026-04-03 to 2026-04-07"),
        ("Wo war ich Ostern 2023?", "2023-04-07 to 2023-04-11"),
        ("Was habe ich an Weihnachten gemacht?", "2025-12-23 to 2025-12-27"),
        ("Was habe ich letztes Weihnachten gegessen?", "2025-12-23 to 2025-12-27"),
        ("Was habe ich zu Silvester gemacht?", "2025-12-29 to 2026-01-02"),
        ("Was habe ich in den letzten drei Monaten gemacht?", "2026-08-27 to 2026-11-27"),
        ("Was habe ich in den letzten Tagen gemacht?", "2026-11-23 to 2026-11-27"),
        ("Was war im dritten Quartal 2024?", "2024-07-01 to 2024-09-30"),
        ("Was war im letzten Quartal?", "2026-07-01 to 2026-09-30"),
        ("Was habe ich Anfang März 2024 gemacht?", "2024-03-01 to 2024-03-10"),
        ("Was habe ich Mitte Juni gemacht?", "2026-06-11 to 2026-06-20"),
        ("Was habe ich Ende letzten Monats gemacht?", "2026-10-21 to 2026-10-31"),
        ("Was habe ich zwischen dem 3. und dem 7. Mai 2024 notiert?", "2024-05-03 to 2024-05-07"),
        ("Was habe ich vom 28. Februar bis zum 3. März 2024 notiert?", "2024-02-28 to 2024-03-03"),
        ("Was war von Montag bis Mittwoch?", "2026-11-23 to 2026-11-25"),
        ("Was habe ich seit Dienstag gemacht?", "2026-11-24 to 2026-11-27"),
        ("Was habe ich seit letzter Woche gemacht?", "2026-11-16 to 2026-11-27"),
        ("Was habe ich vor dem 3. März 2024 gemacht?", "1900-01-01 to 2024-03-02"),
        ("Was habe ich nach dem 3. März 2024 gemacht?", "2024-03-04 to 2026-11-27"),
        ("Was habe ich bis Mai 2024 gemacht?", "1900-01-01 to 2024-05-31"),
        ("Was war am Tag nach Weihnachten?", "2025-12-26"),
        ("Was war zwei Tage vor Weihnachten 2024?", "2024-12-23"),
        ("Was habe ich am letzten Wochenende gemacht?", "2026-11-21 to 2026-11-22"),
        ("Was habe ich heute Morgen gemacht?", "2026-11-27"),
        ("Was habe ich vorgestern gemacht?", "2026-11-25"),
        ("Was habe ich vor einem Jahr gemacht?", "2025-01-01 to 2025-12-31"),
        ("Was habe ich letztes Jahr im Sommer gemacht?", "2025-06-01 to 2025-08-31"),
        ("Was habe ich letzten Sommer gemacht?", "2026-06-01 to 2026-08-31"),
        ("Was habe ich im Sommer gemacht?", "2026-06-01 to 2026-08-31"),
        ("Was habe ich diesen Sommer gemacht?", "2026-06-01 to 2026-08-31"),
        ("Was habe ich 2021 gemacht?", "2021-01-01 to 2021-12-31"),
        ("Was habe ich im Jahr 2021 gemacht?", "2021-01-01 to 2021-12-31"),
        ("Was habe ich 2019 bis 2021 gemacht?", "2019-01-01 to 2021-12-31"),
        ("Was habe ich am 03.03.2024 gemacht?", "2024-03-03"),
        ("Was habe ich am 3.3. gemacht?", "2026-03-03"),
        ("Was habe ich am 3.3.24 gemacht?", "2024-03-03"),
        ("Was habe ich am Donnerstag, den 3. März 2022 gemacht?", "2022-03-03"),
        ("Was habe ich am 12. gemacht?", "2026-11-12"),
        ("Was habe ich in der ersten Woche im Mai 2024 gemacht?", "2024-05-01 to 2024-05-07"),
        ("Was habe ich in der ersten Hälfte des Jahres 2023 gemacht?", "2023-01-01 to 2023-06-30"),
        ("Was habe ich in der vorletzten Woche gemacht?", "2026-11-09 to 2026-11-15"),
        ("Was habe ich vor ein paar Wochen gemacht?", "2026-10-27 to 2026-11-16"),
        ("Was habe ich vor mehreren Jahren gemacht?", "2021-01-01 to 2023-12-31"),
        ("Was war im März oder April?", "2026-03-01 to 2026-03-31 or 2026-04-01 to 2026-04-30"),
        ("Was war am 3. und 4. Mai 2024?", "2024-05-03 or 2024-05-04"),
        ("Was war in der Woche vom 6. Mai 2024?", "2024-05-06 to 2024-05-12"),
        ("Was war in der Woche um den 6. Mai?", "2026-05-04 to 2026-05-10"),
        ("Was habe ich diese Woche gemacht?", "2026-11-23 to 2026-11-29"),
        ("Was war im Herbst 2023?", "2023-09-01 to 2023-11-30"),
        ("Was war Dienstag letzter Woche?", "2026-11-17"),
        ("Was war am Dienstag der letzten Woche?", "2026-11-17"),
        ("Der Februar-Bericht ist von April", "2026-04-01 to 2026-04-30"),
    ],
)
def test_times_are_read_in_german(question: str, days: str) -> None:
    assert read(question) == days


@pytest.mark.parametrize(
    "question",
    [
        "Was mache ich nächsten Dienstag?",
        "Was habe ich heute Abend vor?",
        "Wo wohnte ich Stand November 2023?",
    ],
)
def test_a_time_ahead_or_an_end_alone_holds_no_memories_in_german(question: str) -> None:
    intervals = find_intervals(question, now=NOW)
    assert intervals
    assert not any(item.confidence for item in intervals)


@pytest.mark.parametrize(
    "question",
    [
        "Was mache ich morgen?",
        "Ist das hier der Mai-Bericht?",
        "Was steht in Zimmer 2024?",
        "Die Version 3.3.24 ist kaputt",
        "Wer hat 2000 Euro bezahlt?",
        "Wir trafen Frau Sommer",
        "Wo wohnt Herr Freitag?",
        "Wo ist die Straße des 17. Juni?",
        "Das dauert drei Tage",
        "Was kostet die Sekunde?",
        "Die zweite Sekunde um 12 Uhr",
        "Wer ist August?",
        "Bis dann, mach das morgen nicht",
        "Wer will noch mal?",
        "Die Mai-Ausgabe",
        "Das ist erst der Anfang",
        "Ende gut, alles gut",
        "Wie war die Mitte der Torte?",
        "am Ende des Tages",
        "Er ist hier",
        "die Woche hat sieben Tage",
        "Montags ist zu",
        "jeden Freitag",
        "Sommer und Winter heißen die Nachbarn",
        "Version 3.11",
        "Raum 1203",
        "um 12 Uhr",
        "3/4 des Budgets",
        "der erste Versuch",
        "der zweite Mai",
        "vor Gericht",
        "nach Hause",
        "seit Langem",
        "von Anfang an",
    ],
)
def test_words_that_only_resemble_a_time_are_none_in_german(question: str) -> None:
    assert find_intervals(question, now=NOW) == ()
