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
    Operation(
        method="GET", path="/settings", verb="settings.show", scope="read",
        answer=answers.SettingsAnswer,
    ),
    Operation(
        method="PATCH", path="/settings", verb="settings.set", scope="admin",
        answer=answers.SettingsAnswer, problems=[404, 409],
        body=BodySpec(
            "SettingsBody", "Settings to change, all of them or none; what is left out stays.",
            {"lexical": 1.5, "history": "on"}, base=Changes, constants=SETTING_NAMES,
        ),
    ),
    Operation(
        method="POST", path="/settings/reset", verb="settings.reset", scope="admin",
        answer=answers.SettingsAnswer, body=ResetBody, spread="names", problems=[409],
    ),
    Operation(
        method="GET", path="/settings/history", verb="settings.history", scope="read",
        answer=list_of(
            answers.SettingsChange, "changes", "SettingsHistory",
            "The latest changes, each with who made it.",
        ),
    ),
    Operation(
        method="GET", path="/profiles", verb="profiles.list", scope="read",
        answer=list_of(
            answers.ProfileLine, "profiles", "ProfileList",
            "The shipped profiles, then the namespace's own.",
        ),
    ),
    Operation(
        method="POST", path="/profiles", verb="profiles.create", scope="admin", status=201,
        answer=answers.ProfileAnswer, location="/profiles/{name}", problems=[404],
        body=BodySpec(
            "ProfileBody", "A new profile: another one with some constants changed.",
            {"name": "mine", "base": "vector_heavy", "lexical": 1.5}, base=Changes,
            constants=TUNABLE,
        ),
    ),
    Operation(
        method="GET", path="/profiles/{name}", verb="profiles.get", scope="read",
        answer=answers.ProfileAnswer, problems=[404],
    ),
    Operation(
        method="DELETE", path="/profiles/{name}", verb="profiles.delete", scope="admin",
        status=204, answer=None, problems=[404],
    ),
    Operation(
        method="GET", path="/ttl", verb="ttl.list", scope="read",
        answer=list_of(
            answers.Rule, "rules", "Rules",
            "Rules by which memories expire, that of the namespace first.",
        ),
    ),
    Operation(
        method="PUT", path="/ttl", verb="ttl.set", scope="admin",
        answer=value_of("chunks", "Dated", "The number of stored chunks that a rule has dated."),
        problems=[404],
        body=BodySpec(
            "RuleBody", "A rule of how long memories are stored.", {"ttl": "90d", "tag": "scratch"},
        ),
    ),
    Operation(
        method="POST", path="/ttl/unset", verb="ttl.unset", scope="admin", status=204, answer=None,
        body=BodySpec("RuleName", "A rule to delete.", {"tag": "scratch"}), problems=[404],
    ),
    Operation(
        method="POST", path="/ttl/sweep", verb="ttl.sweep", scope="admin",
        answer=answers.SweptMemories,
    ),
    # Keys
    Operation(
        method="GET", path="/access-keys", verb="access_keys.list", scope="admin",
        answer=list_of(answers.Key, "access_keys", "Keys", "The tenant's keys, the oldest first."),
    ),
    Operation(
        method="POST", path="/access-keys", verb="access_keys.create", scope="admin", status=201,
        answer=answers.CreatedKey, check=check_scopes,
        body=BodySpec(
            "KeyBody", "A new access key: what it allows, and whose memory it opens.",
            {"scopes": ["read", "write"], "name": "chat", "user_id": "ada"},
        ),
    ),
    Operation(
        method="DELETE", path="/access-keys/{key_id}", verb="access_keys.revoke", scope="admin",
        answer=answers.Key, problems=[404],
    ),
    # Jobs
    Operation(
        method="GET", path="/jobs", verb="jobs.list", scope="admin",
        answer=list_of(answers.JobLine, "jobs", "Jobs", "Background jobs, next due first."),
    ),
    Operation(
        method="GET", path="/jobs/count", verb="jobs.count", scope="admin",
        answer=answers.JobNumbers,
    ),
    Operation(
        method="POST", path="/jobs/retry", verb="jobs.retry", scope="admin",
        answer=answers.JobIds, body=JOBS, problems=[404],
    ),
    Operation(
        method="POST", path="/jobs/drop", verb="jobs.drop", scope="admin",
        answer=answers.JobIds, body=JOBS, problems=[404],
    ),
    Operation(
        method="POST", path="/jobs/run", verb="jobs.run", scope="admin", answer=answers.JobsRun
    ),
    # Models and indexes
    Operation(
        method="GET", path="/models", verb="models.status", scope="read",
        answer=list_of(
            answers.ModelLine, "models", "Models", "Embedding models, the one in use first.",
        ),
    ),
    Operation(
        method="POST", path="/models/compare", verb="models.compare", scope="admin",
        answer=answers.ModelsCompared, problems=[404, 504],
    ),
    Operation(
        method="POST", path="/models/switch", verb="models.switch", scope="admin",
        answer=answers.ModelLine, problems=[404],
    ),
    Operation(
        method="POST", path="/models/back", verb="models.back", scope="admin",
        answer=answers.ModelLine, problems=[404],
    ),
    Operation(
        method="POST", path="/models/drop", verb="models.drop", scope="admin",
        answer=value_of("vectors", "DroppedVectors", "The number of vectors that were deleted."),
        problems=[404],
    ),
    Operation(
        method="POST", path="/indexes/make-sessions", verb="indexes.make_sessions", scope="admin",
        answer=value_of(
            "sessions", "SessionCount", "The number of sessions whose chunks were made.",
        ),
    ),
    Operation(
        method="POST", path="/indexes/optimise", verb="indexes.optimise", scope="admin",
        answer=list_of(
            answers.Change, "changes", "IndexChanges", "Indexes that were built or dropped.",
        ),
    ),
    Operation(
        method="POST", path="/indexes/fill-tokens", verb="indexes.fill_tokens", scope="admin",
        answer=answers.ChunkCount,
    ),
    Operation(
        method="POST", path="/indexes/link-facts", verb="indexes.link_facts", scope="admin",
        answer=value_of("links", "LinkCount", "The number of new links between changed facts."),
        problems=[404],
    ),
    Operation(
        method="POST", path="/indexes/find-rules", verb="indexes.find_rules", scope="admin",
        answer=value_of("memories", "RuleCount", "The number of memories with new rules."),
    ),
    Operation(
        method="POST", path="/indexes/rebuild", verb="indexes.rebuild", scope="admin",
        answer=answers.Rebuilt, problems=[404],
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
