"""Whether a path lies in a folder."""

from pathlib import Path

import pytest

from memsense.environment import split_folders
from memsense.text.folders import lies_in


@pytest.mark.parametrize(
    ("path", "folders", "expected"),
    [
        ("/home/ada/work", ["/home/ada/work"], True),
        ("/home/ada/work/a/b", ["/home/ada/work"], True),
        ("/home/ada/work/a", ["/home/ada/work/"], True),
        ("/home/ada/workshop", ["/home/ada/work"], False),
        ("/home/ada", ["/home/ada/work"], False),
        ("/home/ada/work/../play", ["/home/ada/work"], False),
        ("/home/ada/work", ["/x", "/home/ada"], True),
        ("/home/ada/work", ["/"], True),
        ("/home/ada/work", [], False),
        ("", ["/"], False),
        (r"C:\Users\Ada\Secret\shop", ["c:/users/ada/secret"], True),
        (r"C:\Users\Ada\Secrets", [r"C:\Users\Ada\Secret"], False),
    ],
)
def test_a_path_lies_in_a_folder_or_not(path: str, folders: list[str], expected: bool) -> None:
    assert lies_in(path, folders) is expected


def test_a_link_and_its_folder_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / "shop").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert lies_in(tmp_path / "link" / "shop", [tmp_path / "real"])
    assert lies_in(tmp_path / "real" / "shop", [tmp_path / "link"])
    monkeypatch.setenv("HOME", str(tmp_path))
    assert lies_in(tmp_path / "real" / "shop", ["~/real"])


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("", []),
        ("/a", ["/a"]),
        ("/a:/b c", ["/a", "/b c"]),
        ('["/a:b", "/c"]', ["/a:b", "/c"]),
    ],
)
def test_folders_of_a_variable(text: str, folders: list[str]) -> None:
    assert split_folders(text) == folders


def test_a_list_of_folders_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON list"):
        split_folders('["/a"')
