"""Operations for operators: settings, profiles, keys, rules, jobs, models and indexes."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request

from memsense.search.profiles import TUNABLE
from memsense.search.settings import SETTING_NAMES
from memsense.server import answers
from memsense.server.answers import list_of, value_of
from memsense.server.callers import Caller, Reader, names_of
from memsense.server.operations import Operation
from memsense.server.problems import ProblemError, problem_responses
from memsense.server.requests import BodySpec, Changes, ResetBody

JOBS = BodySpec("JobsBody", "Jobs; without ids, all dead ones.", {"job_ids": [17]})


def check_scopes(caller: Caller, arguments: Mapping[str, Any]) -> None:
    """Raise ProblemError for a new key that may do more than the key that creates it."""
    # Otherwise a key that may not read would create one that may.
    if more := sorted(set(arguments["scopes"]) - caller.scopes):
        raise ProblemError(403, f"the key has not the scope {more[0]} itself: it can't give it")


OPERATIONS = (
    Operation("GET", "/settings", "settings.show", "read", answers.SettingsAnswer),
    Operation(
        "PATCH", "/settings", "settings.set", "admin", answers.SettingsAnswer, problems=[404, 409],
        body=BodySpec(
            "SettingsBody", "Settings to change, all of them or none; what is left out stays.",
            {"lexical": 1.5, "history": "on"}, base=Changes, constants=SETTING_NAMES,
        ),
    ),
    Operation(
        "POST", "/settings/reset", "settings.reset", "admin", answers.SettingsAnswer,
        body=ResetBody, spread="names", problems=[409],
    ),
    Operation(
        "GET", "/settings/history", "settings.history", "read",
        list_of(
            answers.SettingsChange, "changes", "SettingsHistory",
            "The latest changes, each with who made it.",
        ),
    ),
    Operation(
        "GET", "/profiles", "profiles.list", "read",
        list_of(
            answers.ProfileLine, "profiles", "ProfileList",
            "The shipped profiles, then the namespace's own.",
        ),
    ),
    Operation(
        "POST", "/profiles", "profiles.create", "admin", answers.ProfileAnswer, status=201,
        location="/profiles/{name}", problems=[404],
        body=BodySpec(
            "ProfileBody", "A new profile: another one with some constants changed.",
            {"name": "mine", "base": "vector_heavy", "lexical": 1.5}, base=Changes,
            constants=TUNABLE,
        ),
    ),
    Operation(
        "GET", "/profiles/{name}", "profiles.get", "read", answers.ProfileAnswer, problems=[404],
    ),
    Operation(
        "DELETE", "/profiles/{name}", "profiles.delete", "admin", status=204, answer=None,
        problems=[404],
    ),
    Operation(
        "GET", "/ttl", "ttl.list", "read",
        list_of(
            answers.Rule, "rules", "Rules",
            "Rules by which memories expire, that of the namespace first.",
        ),
    ),
    Operation(
        "PUT", "/ttl", "ttl.set", "admin",
        value_of("chunks", "Dated", "The number of stored chunks that a rule has dated."),
        problems=[404],
        body=BodySpec(
            "RuleBody", "A rule of how long memories are stored.", {"ttl": "90d", "tag": "scratch"},
        ),
    ),
    Operation(
        "POST", "/ttl/unset", "ttl.unset", "admin", status=204, answer=None,
        body=BodySpec("RuleName", "A rule to delete.", {"tag": "scratch"}), problems=[404],
    ),
    Operation("POST", "/ttl/sweep", "ttl.sweep", "admin", answers.SweptMemories),
    # Keys
    Operation(
        "GET", "/access-keys", "access_keys.list", "admin",
        list_of(answers.Key, "access_keys", "Keys", "The tenant's keys, the oldest first."),
    ),
    Operation(
        "POST", "/access-keys", "access_keys.create", "admin", answers.CreatedKey, status=201,
        check=check_scopes,
        body=BodySpec(
            "KeyBody", "A new access key: what it allows, and whose memory it opens.",
            {"scopes": ["read", "write"], "name": "chat", "user_id": "ada"},
        ),
    ),
    Operation(
        "DELETE", "/access-keys/{key_id}", "access_keys.revoke", "admin", answers.Key,
        problems=[404],
    ),
    # Jobs
    Operation(
        "GET", "/jobs", "jobs.list", "admin",
        list_of(answers.JobLine, "jobs", "Jobs", "Background jobs, next due first."),
    ),
    Operation("GET", "/jobs/count", "jobs.count", "admin", answers.JobNumbers),
    Operation(
        "POST", "/jobs/retry", "jobs.retry", "admin", answers.JobIds, body=JOBS, problems=[404],
    ),
    Operation(
        "POST", "/jobs/drop", "jobs.drop", "admin", answers.JobIds, body=JOBS, problems=[404],
    ),
    Operation("POST", "/jobs/run", "jobs.run", "admin", answers.JobsRun),
    # Models and indexes
    Operation(
        "GET", "/models", "models.status", "read",
        list_of(answers.ModelLine, "models", "Models", "Embedding models, the one in use first."),
    ),
    Operation(
        "POST", "/models/compare", "models.compare", "admin", answers.ModelsCompared,
        problems=[404, 504],
    ),
    Operation(
        "POST", "/models/switch", "models.switch", "admin", answers.ModelLine, problems=[404],
    ),
    Operation("POST", "/models/back", "models.back", "admin", answers.ModelLine, problems=[404]),
    Operation(
        "POST", "/models/drop", "models.drop", "admin",
        value_of("vectors", "DroppedVectors", "The number of vectors that were deleted."),
        problems=[404],
    ),
    Operation(
        "POST", "/indexes/make-sessions", "indexes.make_sessions", "admin",
        value_of("sessions", "SessionCount", "The number of sessions whose chunks were made."),
    ),
    Operation(
        "POST", "/indexes/optimise", "indexes.optimise", "admin",
        list_of(answers.Change, "changes", "IndexChanges", "Indexes that were built or dropped."),
    ),
    Operation("POST", "/indexes/fill-tokens", "indexes.fill_tokens", "admin", answers.ChunkCount),
    Operation(
        "POST", "/indexes/link-facts", "indexes.link_facts", "admin",
        value_of("links", "LinkCount", "The number of new links between changed facts."),
        problems=[404],
    ),
    Operation(
        "POST", "/indexes/find-rules", "indexes.find_rules", "admin",
        value_of("memories", "RuleCount", "The number of memories with new rules."),
    ),
    Operation(
        "POST", "/indexes/rebuild", "indexes.rebuild", "admin", answers.Rebuilt, problems=[404],
    ),
)  # fmt: skip

router = APIRouter(prefix="/v1", tags=["operating"])
for operation in OPERATIONS:
    operation.add_to(router)


@router.get("/namespaces", name="namespaces", responses=problem_responses())
async def list_namespaces(request: Request, caller: Reader) -> answers.Namespaces:
    """Return the namespaces that the key opens; the header Memsense-Namespace chooses one."""
    caller.whole()
    return answers.Namespaces(
        namespace=caller.namespace, namespaces=await names_of(request, caller)
    )
