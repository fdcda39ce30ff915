import pytest
from time_readings import NOW, read

from memsense.search.question.time.engine import find_intervals


# Asked on Friday, 27 November 2026.
@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("Qu'ai-je fait le 5 novembre ?", "2026-11-05"),
        ("Qu'ai-je mangé lundi ?", "2026-11-23"),
        ("Qu'ai-je mangé lundi dernier au soir ?", "2026-11-23"),
        ("Que s'est-il passé il y a trois jours ?", "2026-11-24"),
        ("Qu'ai-je fait il y a quinze jours ?", "2026-11-10 to 2026-11-16"),
        ("Qu'ai-je fait il y a six mois ?", "2026-05-01 to 2026-05-31"),
        ("Qu'ai-je fait il y a un an ?", "2025-01-01 to 2025-12-31"),
        ("Que lisais-je dans les années 90 ?", "1990-01-01 to 1999-12-31"),
        ("Qu'avons-nous fait l'autre jour ?", "2026-11-13 to 2026-11-26"),
        ("Où étais-je à Pâques ?", "2026-04-03 to 2026-04-07"),
        ("Où étais-je à Pâques 2023 ?", "2023-04-07 to 2023-04-11"),
        ("Qu'ai-je fait à Noël ?", "2025-12-23 to 2025-12-27"),
        ("Qu'ai-je fait à Noël dernier ?", "2025-12-23 to 2025-12-27"),
        ("Qu'ai-je fait pour le Nouvel An ?", "2025-12-30 to 2026-01-03"),
        ("Qu'ai-je fait ces trois derniers mois ?", "2026-08-27 to 2026-11-27"),
        ("Qu'ai-je fait au cours des deux dernières semaines ?", "2026-11-13 to 2026-11-27"),
        ("Qu'ai-je fait ces derniers jours ?", "2026-11-23 to 2026-11-27"),
        ("Qu'ai-je fait au troisième trimestre 2024 ?", "2024-07-01 to 2024-09-30"),
        ("Que s'est-il passé au T3 2024 ?", "2024-07-01 to 2024-09-30"),
        ("Qu'ai-je fait le trimestre dernier ?", "2026-07-01 to 2026-09-30"),
        ("Qu'ai-je fait début mars 2024 ?", "2024-03-01 to 2024-03-10"),
        ("Qu'ai-je fait à la mi-juin ?", "2026-06-11 to 2026-06-20"),
        ("Qu'ai-je fait fin mai ?", "2026-05-21 to 2026-05-31"),
        ("Qu'ai-je fait à la fin du mois dernier ?", "2026-10-21 to 2026-10-31"),
        ("Qu'ai-je noté entre le 3 et le 7 mai 2024 ?", "2024-05-03 to 2024-05-07"),
        ("Qu'ai-je noté du 28 février au 3 mars 2024 ?", "2024-02-28 to 2024-03-03"),
        ("Qu'ai-je noté de lundi à mercredi ?", "2026-11-23 to 2026-11-25"),
        ("Qu'ai-je fait depuis mardi ?", "2026-11-24 to 2026-11-27"),
        ("Qu'ai-je fait depuis la semaine dernière ?", "2026-11-16 to 2026-11-27"),
        ("Qu'ai-je fait avant le 3 mars 2024 ?", "1900-01-01 to 2024-03-02"),
        ("Qu'ai-je fait après le 3 mars 2024 ?", "2024-03-04 to 2026-11-27"),
        ("Qu'ai-je fait jusqu'en mai 2024 ?", "1900-01-01 to 2024-05-31"),
        ("Qu'ai-je fait le lendemain de Noël ?", "2025-12-26"),
        ("Qu'ai-je fait le week-end dernier ?", "2026-11-21 to 2026-11-22"),
        ("Qu'ai-je fait ce matin ?", "2026-11-27"),
        ("Qu'ai-je fait hier soir ?", "2026-11-26"),
        ("Qu'ai-je fait avant-hier ?", "2026-11-25"),
        ("Qu'ai-je fait l'année dernière ?", "2025-01-01 to 2025-12-31"),
        ("Qu'ai-je fait l'été dernier ?", "2026-06-01 to 2026-08-31"),
        ("Qu'ai-je fait en été ?", "2026-06-01 to 2026-08-31"),
        ("Qu'ai-je fait cet été ?", "2026-06-01 to 2026-08-31"),
        ("Qu'ai-je fait en mars de l'année dernière ?", "2025-03-01 to 2025-03-31"),
        ("Qu'ai-je fait en 2021 ?", "2021-01-01 to 2021-12-31"),
        ("Qu'ai-je fait de 2019 à 2021 ?", "2019-01-01 to 2021-12-31"),
        ("Qu'ai-je fait le 03/04/2024 ?", "2024-04-03 or 2024-03-04"),
        ("Qu'ai-je fait le 1er mai 2024 ?", "2024-05-01"),
        ("Qu'ai-je fait jeudi 3 mars 2022 ?", "2022-03-03"),
        ("Qu'ai-je fait le 12 ?", "2026-11-12"),
        ("Qu'ai-je fait la première semaine de mai 2024 ?", "2024-05-01 to 2024-05-07"),
        ("Qu'ai-je fait la dernière semaine de mai ?", "2026-05-25 to 2026-05-31"),
        ("Qu'ai-je fait la semaine du 6 mai 2024 ?", "2024-05-06 to 2024-05-12"),
        ("Qu'ai-je fait cette semaine ?", "2026-11-23 to 2026-11-29"),
        ("Qu'ai-je fait à l'automne 2023 ?", "2023-09-01 to 2023-11-30"),
        ("Qu'ai-je fait mardi de la semaine dernière ?", "2026-11-17"),
        (
            "Qu'ai-je fait en mars ou avril ?",
            "2026-03-01 to 2026-03-31 or 2026-04-01 to 2026-04-30",
        ),
        ("Qu'ai-je fait au mois de mai ?", "2026-05-01 to 2026-05-31"),
        ("Qu'ai-je fait il y a quelques semaines ?", "2026-10-27 to 2026-11-16"),
        ("Qu'ai-je fait ce mois-ci ?", "2026-11-01 to 2026-11-30"),
    ],
)
def test_times_are_read_in_french(question: str, days: str) -> None:
    assert read(question) == days


@pytest.mark.parametrize(
    "question",
    [
        "Que fais-je demain ?",
        "Que fais-je mardi prochain ?",
        "Que fait-on ce soir ?",
        "D'ici mai, qu'ai-je fini ?",
        "En date du 3 novembre 2023, où habitais-je ?",
    ],
)
def test_a_time_ahead_or_an_end_alone_holds_no_memories_in_french(question: str) -> None:
    intervals = find_intervals(question, now=NOW)
    assert intervals
    assert not any(item.confidence for item in intervals)


@pytest.mark.parametrize(
    "question",
    [
        "La sonde est-elle sur Mars ?",
        "La planète Mars a-t-elle de l'eau ?",
        "Il a été malade",
        "Qui a été là ?",
        "une seconde",
        "Chambre 2024",
        "la version 2.10.2024",
        "3/4 du budget",
        "à midi",
        "J'ai sept chats",
        "Le 2000 euros",
        "Où est la gare ?",
        "Il a été là",
        "J'ai été malade",
        "Le mardi, je nage",
        "tous les lundis",
        "version 3.11",
        "salle 1203",
        "à 12 heures",
        "la fin du film",
        "au début",
        "le mi-temps",
        "Mars et Vénus",
        "un mars au chocolat",
        "dix personnes",
        "une fois par an",
        "dans un sens",
        "en avant",
        "après tout",
        "jusqu'au bout",
    ],
)
def test_words_that_only_resemble_a_time_are_none_in_french(question: str) -> None:
    assert find_intervals(question, now=NOW) == ()
