"""Database addresses: accepted forms, errors for mistyped ones, and how they are printed."""

import traceback
from itertools import pairwise

import pytest
from psycopg.conninfo import conninfo_to_dict

from memsense import MemSense, MemSenseError
from memsense.cli import app
from memsense.db.address import read_address, shown_url, split_secrets
from memsense.errors import ConfigurationError, ConnectionFailedError

PASSWORD = "hunter2pw"

# Each holds the password, and something that people get wrong. Nobody listens on port 1.
MISTYPED = [
    f"postgres//ada:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql//ada:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql:/ada:{PASSWORD}@127.0.0.1:1/db",
    f"ada:{PASSWORD}@127.0.0.1:1/db",
    f"mysql://ada:{PASSWORD}@127.0.0.1:1/db",
    f"mysql://ada:{PASSWORD}@127.0.0.1:1/db?ssl=1",
    f"jdbc:postgresql://127.0.0.1:1/db?user=ada&password={PASSWORD}",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:port/db",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:99999/db",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1:2/db",
    f"postgresql://ada:{PASSWORD}.host:5432/db",
    f"postgresql://ada:{PASSWORD}/db",
    f"postgresql://ada:{PASSWORD}",
    f"postgresql://ada%3A{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://ada:x@{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://ada:x/{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://ada:12/{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://ada:my {PASSWORD}@127.0.0.1:1/db",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1/d b",
    f"postgresql://ada:{PASSWORD}%zz@127.0.0.1:1/db",
    f"postgresql://ada:{PASSWORD}%@127.0.0.1:1/db",
    f"postgresql://ada:{PASSWORD}@[::1:1/db",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1/db?nope=1",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1/db?nope",
    f"postgresql://ada@127.0.0.1:1/db?pasword={PASSWORD}",
    f"postgresql://ada:{PASSWORD}@127.0.0.1;port=1/db",
    f"host=127.0.0.1 port=1 user=ada password=my {PASSWORD}",
    f"host=127.0.0.1 port=1 user=ada password {PASSWORD}",
    f"host=127.0.0.1 port=1 user=ada password='{PASSWORD}",
    f"host=127.0.0.1 port=1 user=ada pasword={PASSWORD}",
    f"host=127.0.0.1 port=1password={PASSWORD}",
    f"host=127.0.0.1;port=1;user=ada;password={PASSWORD}",
    f"host=127.0.0.1,port=1,user=ada,password={PASSWORD}",
    f"dbname=postgresql://ada:{PASSWORD}@127.0.0.1:1/db",
]
# Nothing is wrong with these but that no server answers.
WELL_FORMED = [
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1/db",
    f"postgres://ada:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql+psycopg://ada:{PASSWORD}@127.0.0.1:1/db",
    f"PostgreSQL://ada:{PASSWORD}@127.0.0.1:1/db",
    f" postgresql://ada:{PASSWORD}@127.0.0.1:1/db\n",
    f"postgresql://ada:a?#{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://ada:{PASSWORD}@127.0.0.1:1,[::1]:1/db?connect_timeout=1",
    f"postgresql://ada:{PASSWORD}@%2Fno%2Fsocket/db",
    f"postgresql:///db?host=/no/socket&user=ada&password={PASSWORD}",
    f"postgresql://ada@127.0.0.1:1?user=ada@corp&password={PASSWORD}",
    f"host=/no/socket user=ada password='{PASSWORD}' dbname=db",
    f"host = 127.0.0.1 port=1 user=ada password={PASSWORD}\\ x",
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a server at once: nothing answers at any of these addresses."""
    monkeypatch.setenv("MEMSENSE_POOL_TIMEOUT", "0.1")


def told(address: str) -> str:
    """Return everything that a program prints of the error, including its causes."""
    with pytest.raises(MemSenseError) as caught:
        MemSense.open(address)
    return "".join(traceback.format_exception(caught.value))


def called(address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of the command line, which must exit with 2."""
    with pytest.raises(SystemExit) as ended:
        app.root(
            args=["--database-url", address, "search", "--all-users", "hi"], prog_name="memsense"
        )
    assert ended.value.code == 2
    printed = capsys.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize("address", [*MISTYPED, *WELL_FORMED])
def test_no_error_shows_a_password(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert PASSWORD not in told(address)
    assert PASSWORD not in called(address, capsys)
    assert PASSWORD not in shown_url(address)


@pytest.mark.parametrize("address", MISTYPED)
def test_a_mistyped_address_is_distinguished_from_a_server_that_is_down(address: str) -> None:
    with pytest.raises(ConfigurationError, match="^--database-url or MEMSENSE_DATABASE_URL: "):
        MemSense.open(address)


@pytest.mark.parametrize("address", WELL_FORMED)
def test_an_address_that_libpq_takes_is_used(address: str) -> None:
    with pytest.raises(
        ConnectionFailedError, match="check --database-url or MEMSENSE_DATABASE_URL"
    ):
        MemSense.open(address)


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("postgresql://ada:x@y@h/db", "%40"),
        ("postgresql://ada:x/y@h/db", "%2F"),
        ("postgresql://ada:x%y@h/db", "%25"),
        ("postgresql://ada:x y@h/db", "%20"),
        ("postgresql://[::1/db", r"\[::1\]:5432"),
        ("postgresql://h:y/db", "a port is not a number"),
        ("postgresql://h/db?x=1", "option"),
        ("host=h pasword=x", "a key is unknown"),
        ("nonsense", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
    ],
)
def test_a_mistyped_address_is_refused_with_a_remedy(address: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError, match=remedy):
        read_address(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:p%40ss@db.example:5432/m", "postgresql://ada:***@db.example:5432/m"),
        ("postgres+x://ada:a?b@h1:1,h2:2/m?a=b", "***"),
        ("postgres://ada:a?b@h1:1,h2:2/m", "postgresql://ada:***@h1:1,h2:2/m"),
        ("postgresql://ada@db/m", "postgresql://ada@db/m"),
        ("postgresql://db/m?password=x&user=y", "postgresql://db/m?password=***&user=y"),
        ("postgresql://db?p%61ssword=x&sslpassword=y", "postgresql://db?p%61ssword=***&sslpassword=***"),
        ("host=/tmp password='a \\' b' user=x", "host=/tmp password=*** user=x"),
        ("host=/tmp password = a\\ b user=x", "host=/tmp password = *** user=x"),
        ("host=/tmp dbname=memories", "host=/tmp dbname=memories"),
        ("ada:secret@db/m", "***"),
    ],
)  # fmt: skip
def test_a_shown_address_has_no_secret(address: str, shown: str) -> None:
    assert shown_url(address) == shown


@pytest.mark.parametrize("address", WELL_FORMED)
def test_secrets_are_split_from_an_address_that_stays_the_same_otherwise(address: str) -> None:
    rest, environment = split_secrets(address)
    whole = conninfo_to_dict(read_address(address))
    assert PASSWORD not in rest
    assert environment == {"PGPASSWORD": whole.pop("password")}
    assert conninfo_to_dict(rest) == whole


def test_the_ways_to_write_a_scheme_mean_the_same() -> None:
    written = ["postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg", "POSTGRES"]
    read = [read_address(f"{scheme}://ada:x@db.example/m") for scheme in written]
    assert all(one == other for one, other in pairwise(read))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:12345/notes", "postgresql://ada:***/notes"),
        ("postgresql://ada:12345", "postgresql://ada:***"),
        ("postgresql://db:5432/notes", "postgresql://db:5432/notes"),
        ("postgresql://localhost:5433/notes", "postgresql://localhost:5433/notes"),
        ("postgresql://10.0.0.7:5433/notes", "postgresql://10.0.0.7:5433/notes"),
    ],
)
def test_a_number_that_may_be_a_password_without_its_at_sign_is_hidden(
    address: str, shown: str
) -> None:
    assert shown_url(address) == shown
