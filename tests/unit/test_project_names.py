"""Names of projects: addresses of remotes, roots of repositories, folders, and what is none."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memsense.text.projects import normalise_address, project_of

ADDRESSES = {
    "https://github.com/ada/looms.git": "github.com/ada/looms",
    "https://github.com/ada/looms": "github.com/ada/looms",
    "https://GitHub.com/ada/looms/": "github.com/ada/looms",
    "https://ada:s3cret@github.com/ada/looms.git": "github.com/ada/looms",
    "https://ada:s3/cret@github.com/ada/looms.git": "github.com/ada/looms",
    "https://ada:s3@cret@github.com/ada/looms.git": "github.com/ada/looms",
    "https://ghp_token@github.com/ada/looms.git": "github.com/ada/looms",
    "https://github.com/ada/looms.git?private_token=s3cret": "github.com/ada/looms",
    "https://gitlab.example:8443/group/sub/looms.git": "gitlab.example/group/sub/looms",
    "git@github.com:ada/looms.git": "github.com/ada/looms",
    "github.com:ada/looms.git": "github.com/ada/looms",
    "ada:s3cret@github.com:ada/looms.git": "github.com/ada/looms",
    "ssh://git@github.com/ada/looms.git": "github.com/ada/looms",
    "ssh://git@gitlab.example:2222/ada/looms.git": "gitlab.example/ada/looms",
    "git+ssh://git@github.com/ada/looms": "github.com/ada/looms",
    "git://github.com//ada/looms.git": "github.com/ada/looms",
    "https://registry.example/@scope/looms": "registry.example/@scope/looms",
    "/srv/git/looms.git": None,
    "../looms": None,
    "file:///srv/git/looms.git": None,
    "C:/git/looms": None,
    "C:\\git\\looms": None,
    "https://github.com": None,
    "https://github.com/" + "a" * 600: None,
}


@pytest.mark.parametrize(("url", "expected"), ADDRESSES.items(), ids=list(ADDRESSES))
def test_each_way_to_reach_a_repository_gives_one_name_without_credentials(
    url: str, expected: str | None
) -> None:
    assert normalise_address(url) == expected
    assert "cret" not in (expected or "")


@pytest.fixture(autouse=True)
def fresh_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a home of its own, and names that no other test has cached."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project_of.cache_clear()


def git(*arguments: str, folder: Path) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "looms"
    (root / "src" / "deep").mkdir(parents=True)
    git("init", "-q", folder=root)
    git("commit", "-q", "--allow-empty", "-m", "one", folder=root)
    return root


def with_remote(root: Path) -> None:
    git("remote", "add", "upstream", "https://other.example/x/y.git", folder=root)
    git("remote", "add", "origin", "https://ada:s3cret@github.com/ada/looms.git", folder=root)


def with_another_remote(root: Path) -> None:
    git("remote", "add", "backup", "git@other.example:x/y.git", folder=root)


def without_remote(_: Path) -> None:
    pass


def with_local_remote(root: Path) -> None:
    git("remote", "add", "origin", "/srv/git/looms.git", folder=root)


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (with_remote, "github.com/ada/looms"),
        (with_another_remote, "other.example/x/y"),
        (with_local_remote, "{root}"),
        (without_remote, "{root}"),
    ],
    ids=["origin", "another remote", "a local remote", "no remote"],
)
def test_a_repository_has_one_name_in_all_of_its_folders_and_worktrees(
    repository: Path, tmp_path: Path, prepare: Callable[[Path], None], expected: str
) -> None:
    prepare(repository)
    git("worktree", "add", "-q", str(tmp_path / "elsewhere"), folder=repository)
    (tmp_path / "elsewhere" / "src").mkdir()
    folders = (
        repository,
        repository / "src" / "deep",
        repository / "src" / "removed" / "meanwhile",
        tmp_path / "elsewhere",
        tmp_path / "elsewhere" / "src",
    )
    names = {project_of(str(folder)) for folder in folders}
    assert names == {expected.format(root=repository)}


def test_a_worktree_of_a_bare_repository_has_its_name(repository: Path, tmp_path: Path) -> None:
    bare, tree = tmp_path / "bare.git", tmp_path / "tree"
    git("clone", "-q", "--bare", str(repository), str(bare), folder=tmp_path)
    git("worktree", "add", "-q", str(tree), folder=bare)
    assert project_of(str(tree)) == str(bare)
    git("remote", "set-url", "origin", "git@github.com:ada/looms.git", folder=bare)
    project_of.cache_clear()
    assert project_of(str(tree)) == "github.com/ada/looms"


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git("init", "-q", folder=part)
    git("commit", "-q", "--allow-empty", "-m", "one", folder=part)
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    git(*add, folder=repository)
    assert project_of(str(repository / "part")) == str(repository / "part")
    git("remote", "set-url", "origin", "git@github.com:ada/part.git", folder=repository / "part")
    project_of.cache_clear()
    assert project_of(str(repository / "part")) == "github.com/ada/part"


FOLDERS = {
    "/work/of/another/machine": "/work/of/another/machine",
    "/work/of/another/machine/": "/work/of/another/machine",
    "//work/./app/../other": "/work/other",
    "/home/grace/compiler": "/home/grace/compiler",
    "C:\\Users\\grace\\compiler\\": "C:\\Users\\grace\\compiler",
    "/": None,
    "/home/grace": None,
    "/Users/grace/": None,
    "/root": None,
    "/tmp": None,  # noqa: S108 (a name, which nothing opens)
    "/private/var/folders/x1/y2/T": None,
    "C:\\": None,
    "C:\\Users\\grace": None,
    "C:\\Users\\grace\\AppData\\Local\\Temp": None,
    "relative/folder": None,
    "": None,
    "/work/line\nbreak": None,
    "/work/\x00": None,
    "/work/" + "a" * 600: None,
}


@pytest.mark.parametrize(("folder", "expected"), FOLDERS.items(), ids=[repr(it) for it in FOLDERS])
def test_a_folder_without_a_repository_is_named_by_its_path_unless_everything_happens_there(
    folder: str, expected: str | None
) -> None:
    assert project_of(folder) == expected


def test_the_repository_of_a_home_is_no_project_of_what_lies_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    git("init", "-q", folder=home)
    assert project_of(str(home)) is None
    assert project_of(str(home / "notes")) == str(home / "notes")


def test_a_broken_repository_is_named_by_a_path(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "config").write_bytes(b'[remote "origin"\n\turl = \xff\n[remote "x"]\n')
    assert project_of(str(repository)) == str(repository)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_text("no gitdir here")
    assert project_of(str(tmp_path / "odd")) == str(tmp_path / "odd")
