"""The check of the docs' words finds what is too long, in prose alone."""

from pathlib import Path

from tools import docs_words, reference

LONG = " ".join(["word"] * 41)


def test_a_long_sentence_is_found_with_its_line() -> None:
    text = f"# Title\n\nShort.\n\n```text\n{LONG}.\n```\n\nShort. {LONG.capitalize()}.\n"
    [(line, count, beginning)] = docs_words.long_sentences(text)
    assert (line, count) == (9, 41)
    assert beginning.startswith("Word word")


def test_entries_cells_and_names_are_no_part_of_a_sentence() -> None:
    half = " ".join(["word"] * 21)
    names = " ".join(["`name`,"] * 41)
    assert list(docs_words.long_sentences(f"- {half}\n- {half}\n\n{half}\n\n{names} {half}")) == []
    assert (
        list(docs_words.long_sentences(f"| head | |\n| --- | --- |\n| {half} | {half} |\n")) == []
    )


def test_every_page_has_one_kind() -> None:
    pages = docs_words.list_pages()
    assert {f"reference/{name}.md" for name in reference.PAGES} <= pages.keys()
    assert {docs_words.kind_of(page) for page in pages} == docs_words.KINDS.keys()


def test_llms_txt_lists_the_tutorials_and_guides(tmp_path: Path) -> None:
    reference.write_llms(tmp_path)
    listed = (tmp_path / "llms.txt").read_text("utf-8")
    whole = (tmp_path / "llms-full.txt").read_text("utf-8")
    for folder in ("tutorials", "guides", "moving"):
        for page in (docs_words.DOCS / folder).glob("*.md"):
            assert f"]({folder}/{page.stem}/): " in listed
            assert page.read_text("utf-8").strip() in whole
    assert "reference/" not in listed
