"""`memsense redact --stored`: it counts, asks, replaces, and ends as `erase` does."""

from typing import Any

from command import assert_one_line, run, run_json

from memsense import MemSense


def fill(url: str) -> None:
    with MemSense.open(url) as memory:
        for user_id in ("ada", "bob"):
            said = f"My PIN is 4821, says {user_id}. The db password is hunter2-Zebra."
            message = {"role": "user", "content": said}
            memory.add([message], user_id=user_id, session_id="monday", redact=False)


def test_redact_counts_replaces_and_leaves_a_receipt(database_url: str) -> None:
    fill(database_url)
    redact = ("redact", "--stored", "--user", "ada")
    counts = {"password": 1, "pin": 1}
    planned = run_json(database_url, *redact, "--dry-run")
    assert planned == {"redacted": counts, "erasure_id": None}
    done = run(database_url, *redact, "--kinds", "pin", "--yes")
    assert (done.returncode, done.stdout) == (0, "1 secret replaced: 1 pin\n"), done.stderr
    result: Any = run_json(database_url, *redact, "--yes", "--by", "data protection")
    [receipt, _] = run_json(database_url, "erasures", "--about", "ada")
    assert (receipt["erasure_id"], receipt["kind"]) == (result["erasure_id"], "secrets")
    assert (receipt["counts"], receipt["erased_by"]) == ({"password": 1}, "data protection")
    done = run(database_url, "redact", "--stored", "--all-users", "--dry-run")
    assert done.stdout == "2 secrets would be replaced: 1 password, 1 pin\n"
    done = run(database_url, *redact, "--yes")
    assert (done.returncode, done.stdout) == (0, "0 secrets replaced\n"), done.stderr


def test_redact_says_what_it_lacks(database_url: str) -> None:
    fill(database_url)
    unasked = run(database_url, "redact", "--stored", "--user", "ada")  # no terminal
    assert unasked.returncode == 2
    assert "nothing was done: add --yes" in unasked.stderr
    assert_one_line(run(database_url, "redact", "--stored", "--user", "eve", "--yes"), 1)
    unknown = run(database_url, "redact", "--stored", "--user", "ada", "--kinds", "pim", "--yes")
    assert_one_line(unknown, 2)
    assert "did you mean 'pin'" in unknown.stderr
    for lacking in ("redact --user ada --yes", "redact --stored --yes"):
        assert run(database_url, *lacking.split()).returncode == 2
