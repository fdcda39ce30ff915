import pytest
from time_readings import NOW, read

from memsense.search.question.time.engine import find_intervals


# Asked on Friday, 27 November 2026.
@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("¿Qué hice el 5 de noviembre?", "2026-11-05"),
        ("¿Qué comí el lunes?", "2026-11-23"),
        ("¿Qué comí el lunes pasado por la noche?", "2026-11-23"),
        ("¿Qué pasó hace tres días?", "2026-11-24"),
        ("¿Qué hice hace quince días?", "2026-11-12"),
        ("¿Qué hice hace medio año?", "2026-05-01 to 2026-05-31"),
        ("¿Qué hice hace un año?", "2025-01-01 to 2025-12-31"),
        ("¿Qué leía en los años 90?", "1990-01-01 to 1999-12-31"),
        ("¿Qué hicimos el otro día?", "2026-11-13 to 2026-11-26"),
        ("¿Dónde estuve en Semana Santa?", "2026-04-03 to 2026-04-07"),
        ("¿Dónde estuve en la Pascua de 2023?", "2023-04-07 to 2023-04-11"),
        ("¿Qué hice en Navidad?", "2025-12-23 to 2025-12-27"),
        ("¿Qué hice la Navidad pasada?", "2025-12-23 to 2025-12-27"),
        ("¿Qué hice en Nochevieja?", "2025-12-29 to 2026-01-02"),
        ("¿Qué hice en los últimos tres meses?", "2026-08-27 to 2026-11-27"),
        ("¿Qué hice en las últimas dos semanas?", "2026-11-13 to 2026-11-27"),
        ("¿Qué hice en los últimos días?", "2026-11-23 to 2026-11-27"),
        ("¿Qué hice en el tercer trimestre de 2024?", "2024-07-01 to 2024-09-30"),
        ("¿Qué hice el trimestre pasado?", "2026-07-01 to 2026-09-30"),
        ("¿Qué hice a principios de marzo de 2024?", "2024-03-01 to 2024-03-10"),
        ("¿Qué hice a mediados de junio?", "2026-06-11 to 2026-06-20"),
        ("¿Qué hice a finales de mayo?", "2026-05-21 to 2026-05-31"),
        ("¿Qué hice a finales del mes pasado?", "2026-10-21 to 2026-10-31"),
        ("¿Qué anoté entre el 3 y el 7 de mayo de 2024?", "2024-05-03 to 2024-05-07"),
        ("¿Qué anoté del 28 de febrero al 3 de marzo de 2024?", "2024-02-28 to 2024-03-03"),
        ("¿Qué anoté de lunes a miércoles?", "2026-11-23 to 2026-11-25"),
        ("¿Qué hice desde el martes?", "2026-11-24 to 2026-11-27"),
        ("¿Qué hice desde la semana pasada?", "2026-11-16 to 2026-11-27"),
        ("¿Qué hice antes del 3 de marzo de 2024?", "1900-01-01 to 2024-03-02"),
        ("¿Qué hice después del 3 de marzo de 2024?", "2024-03-04 to 2026-11-27"),
        ("¿Qué hice hasta mayo de 2024?", "1900-01-01 to 2024-05-31"),
        ("¿Qué hice el día después de Navidad?", "2025-12-26"),
        ("¿Qué hice el fin de semana pasado?", "2026-11-21 to 2026-11-22"),
        ("¿Qué hice esta mañana?", "2026-11-27"),
        ("¿Qué hice anoche?", "2026-11-26"),
        ("¿Qué hice anteayer?", "2026-11-25"),
        ("¿Qué hice el año pasado?", "2025-01-01 to 2025-12-31"),
        ("¿Qué hice el verano pasado?", "2026-06-01 to 2026-08-31"),
        ("¿Qué hice en verano?", "2026-06-01 to 2026-08-31"),
        ("¿Qué hice este verano?", "2026-06-01 to 2026-08-31"),
        ("¿Qué hice en marzo del año pasado?", "2025-03-01 to 2025-03-31"),
        ("¿Qué hice en 2021?", "2021-01-01 to 2021-12-31"),
        ("¿Qué hice de 2019 a 2021?", "2019-01-01 to 2021-12-31"),
        ("¿Qué hice el 03/04/2024?", "2024-04-03 or 2024-03-04"),
        ("¿Qué hice el 1 de mayo de 2024?", "2024-05-01"),
        ("¿Qué hice el primero de mayo de 2024?", "2024-05-01"),
        ("¿Qué hice el jueves 3 de marzo de 2022?", "2022-03-03"),
        ("¿Qué hice el día 12?", "2026-11-12"),
        ("¿Qué hice en la primera semana de mayo de 2024?", "2024-05-01 to 2024-05-07"),
        ("¿Qué hice la última semana de mayo?", "2026-05-25 to 2026-05-31"),
        ("¿Qué hice la semana del 6 de mayo de 2024?", "2024-05-06 to 2024-05-12"),
        ("¿Qué hice esta semana?", "2026-11-23 to 2026-11-29"),
        ("¿Qué hice en el otoño de 2023?", "2023-09-01 to 2023-11-30"),
        ("¿Qué hice el martes de la semana pasada?", "2026-11-17"),
        ("¿Qué hice en marzo o abril?", "2026-03-01 to 2026-03-31 or 2026-04-01 to 2026-04-30"),
        ("¿Qué hice en el mes de mayo?", "2026-05-01 to 2026-05-31"),
        ("¿Qué hice hace unas semanas?", "2026-10-27 to 2026-11-16"),
        ("¿Qué hice hace varios años?", "2021-01-01 to 2023-12-31"),
        ("¿Qué hice la semana antepasada?", "2026-11-09 to 2026-11-15"),
    ],
)
def test_times_are_read_in_spanish(question: str, days: str) -> None:
    assert read(question) == days


@pytest.mark.parametrize(
    "question",
    [
        "¿Qué hice este fin de semana?",
        "¿Qué hago el próximo martes?",
        "¿Qué hago el martes que viene?",
        "¿Qué hago esta noche?",
        "¿Qué terminé para mayo?",
        "A fecha de noviembre de 2023, ¿dónde vivía?",
    ],
)
def test_a_time_ahead_or_an_end_alone_holds_no_memories_in_spanish(question: str) -> None:
    intervals = find_intervals(question, now=NOW)
    assert intervals
    assert not any(item.confidence for item in intervals)


@pytest.mark.parametrize(
    "question",
    [
        "¿Qué hago mañana?",
        "un segundo",
        "la habitación 2024",
        "la versión 2.10.2024",
        "3/4 del presupuesto",
        "a las 12",
        "Me gusta el mar",
        "Marte está lejos",
        "¿Quién viene a las tres?",
        "la primavera árabe",
        "Domingo Pérez llamó",
        "los lunes nado",
        "cada viernes",
        "el mar está frío",
        "habitación 1203",
        "a las 12 en punto",
        "al final del libro",
        "en fin",
        "hace calor",
        "hace falta pan",
        "antes de todo",
        "por la mañana",
        "una vez al año",
        "el primer intento",
        "segundo plato",
        "la mitad de la tarta",
    ],
)
def test_words_that_only_resemble_a_time_are_none_in_spanish(question: str) -> None:
    assert find_intervals(question, now=NOW) == ()
