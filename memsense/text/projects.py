"""Name of the project that a folder belongs to: a repository's address, or a path.

Only the standard library, because hooks import it at every prompt.
"""

import os
import re
from functools import lru_cache
from pathlib import Path

LONGEST = 500
"""Characters of a name, as for every id."""

# Folders in which everything happens are about nothing: the roots of a machine, homes, and folders
# of temporary files. Homes are recognised by form too: a log may come from another machine.
_NO_PROJECT = re.compile(
    r"""/ | /(?:root|home|Users|tmp|var/tmp|private/tmp|private/var/tmp|mnt|srv|opt)
    | /(?:home|Users)/[^/]+ | /(?:private/)?var/folders/[^/]+/[^/]+(?:/T)?
    | [A-Za-z]:(?:[\\/](?:Users|Windows|Temp)?)?
    | [A-Za-z]:[\\/]Users[\\/][^\\/]+(?:[\\/]AppData[\\/]Local[\\/]Temp)?""",
    re.VERBOSE,
)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SECTION = re.compile(r"""\[\s*remote\s+"(?P<name>(?:[^"\\]|\\.)*)"\s*\]""")
_URL = re.compile(r"url\s*=\s*(?P<url>\S.*)", re.IGNORECASE)
# git@host:owner/repo, but no Windows path.
_SCP = re.compile(r"(?P<host>[^/:\s]{2,}):(?!//)(?P<path>.+)")
_LARGEST_CONFIG = 1 << 20


@lru_cache(maxsize=4096)
def project_of(folder: str) -> str | None:
    """Return the name of the project that a folder belongs to, or None if it is about none.

    The address of the repository's remote, as host/owner/repository; else the path of the
    repository's root, which all of its worktrees share; else the path of the folder. None for
    homes, roots, folders of temporary files, and what is no absolute path. A folder of another
    machine has its path as its name.

    Answers are cached, as a log names its folder in each line; an ingest run begins without them.
    """
    if not folder.isprintable():
        return None
    is_windows = _WINDOWS.match(folder) is not None
    if not (is_windows or folder.startswith("/")):
        return None
    path = folder.rstrip("\\/") if is_windows else f"/{os.path.normpath(folder).lstrip('/')}"
    if _is_general(path):
        return None
    name = path
    # A folder that is gone, such as a finished worktree, still belongs to the repository around it.
    for parent in (Path(path), *Path(path).parents) if not is_windows else ():
        if _is_general(str(parent)):
            break
        try:
            repository = _find_repository(parent)
        except OSError:  # an unreadable folder, or a path that this system can't have
            break
        if repository is not None:
            root, config = repository
            name = _read_address(config) or (path if _is_general(str(root)) else str(root))
            break
    return name if len(name) <= LONGEST else None


def _is_general(path: str) -> bool:
    return _NO_PROJECT.fullmatch(path) is not None or path == str(Path.home())


def _find_repository(folder: Path) -> tuple[Path, Path] | None:
    """Return the root and the config file of the repository whose files begin in this folder."""
    entry = folder / ".git"
    if entry.is_dir():
        return folder, entry / "config"
    if not entry.is_file():
        return None
    # A worktree or a submodule: a file that says where the repository's own folder is.
    text = _read_text(entry)
    if not text.startswith("gitdir:"):
        return None
    directory = folder / text.removeprefix("gitdir:").strip()
    common = directory / "commondir"
    if common.is_file():
        directory = Path(os.path.normpath(directory / _read_text(common).strip()))
        # Its main working tree; a bare repository has none.
        folder = directory.parent if directory.name == ".git" else directory
    return folder, directory / "config"


def _read_text(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_LARGEST_CONFIG)


def _read_address(config: Path) -> str | None:
    """Return the normalised address of the remote `origin`, or else of the first remote."""
    addresses: dict[str, str] = {}
    remote: str | None = None
    try:
        lines = _read_text(config).splitlines()
    except OSError:
        return None
    for line in lines:
        text = line.strip()
        if text.startswith("["):
            section = _SECTION.match(text)
            remote = section["name"] if section else None
        elif remote is not None and (match := _URL.match(text)):
            address = normalise_address(match["url"].strip().strip('"'))
            # Of several addresses of one remote, git fetches from the first.
            addresses.setdefault(remote, address or "")
    return addresses.get("origin") or next(filter(None, addresses.values()), None)


def normalise_address(url: str) -> str | None:
    """Return a remote's address as host/owner/repository, or None if it is a path of this machine.

    Without scheme, port, user, password, query and `.git`, so that each way to reach a repository
    gives one name. The part before an @ in the host's place may be a password or a token.
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        match = _SCP.fullmatch(url)
        if match is None or _WINDOWS.match(url):
            return None
        host, path = match["host"], match["path"]
        # Everything between a user's name and the last @ is part of the credentials.
        if "@" in path and "@" not in host:
            host, _, path = path.rpartition("@")[2].partition(":")
    else:
        if scheme[0].lower() == "file://":
            return None
        rest = url[scheme.end() :].partition("?")[0].partition("#")[0]
        host, _, path = rest.partition("/")
        port = host.rpartition(":")[2]
        # A password with a slash in it: the host follows the last @ of all.
        is_cut = "@" not in host and ((":" in host and not port.isdigit()) or "." not in host)
        if "@" in path and is_cut:
            host, _, path = rest.rpartition("@")[2].partition("/")
    host = host.rpartition("@")[2].lower()
    host = host.partition(":")[0]
    path = "/".join(filter(None, path.split("/"))).removesuffix(".git")
    name = f"{host}/{path}"
    return name if host and path and name.isprintable() and len(name) <= LONGEST else None
