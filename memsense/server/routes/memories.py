"""Operations on memories, sessions, projects, entities and users: store, list, change, erase."""

from fastapi import APIRouter

from memsense.server import answers
from memsense.server.answers import list_of
from memsense.server.operations import Operation
from memsense.server.requests import (
    BodySpec,
    NewMemories,
    NewSessions,
    UpdateBody,
)

MEMORY = "/memories/{chunk_id}"
# A name may be an address with slashes.
PROJECT = "/projects/{name:path}"

REASON = BodySpec("ReasonBody", "The reason of a change.", {"reason": "she has moved"})
SESSIONS = BodySpec(
    "SessionsOfProject",
    "Sessions to put into a project, or to take out of it.",
    {"session_ids": ["friday"]},
)
"""Bodies of several routes; their methods have the same parameters."""

OPERATIONS = (
    Operation(
        method="POST", path="/memories", verb="add", scope="write", status=201,
        answer=answers.AddedMemories, body=NewMemories, problems=[409, 507],
    ),
    Operation(
        method="POST", path="/memories/many", verb="add_many", scope="write", status=201,
        body=NewSessions, problems=[409, 507],
        answer=list_of(
            answers.AddedMemories, "sessions", "AddedSessions",
            "Memories that were stored of each session, in the request's order.",
        ),
    ),
    Operation(
        method="GET", path="/memories", verb="list", scope="read",
        answer=list_of(
            answers.Memory, "memories", "MemoryPage", "A page of memories.", is_page=True,
        ),
    ),
    Operation(
        method="GET", path="/memories/recent", verb="recent", scope="read",
        answer=list_of(answers.Memory, "memories", "MemoryList", "Memories, latest first."),
    ),
    Operation(
        method="GET", path="/memories/get-many", verb="get_many", scope="read",
        answer=list_of(
            answers.Memory, "memories", "MemoriesById",
            "Memories with these ids; ids that do not exist are left out.",
        ),
    ),
    Operation(
        method="GET", path="/memories/superseded-facts", verb="superseded_facts", scope="read",
        answer=list_of(
            answers.ChangedFact, "facts", "SupersededFacts",
            "The changes in which these memories stand, on either side.",
        ),
    ),
    Operation(
        method="GET", path=MEMORY, verb="get", scope="read", answer=answers.Memory, problems=[404],
    ),
    Operation(
        method="GET", path=f"{MEMORY}/history", verb="history", scope="read", problems=[404],
        answer=list_of(
            answers.HistoryEntry, "events", "History", "A memory's history, oldest event first.",
        ),
    ),
    Operation(
        method="GET", path=f"{MEMORY}/versions", verb="versions", scope="read", problems=[404],
        answer=list_of(
            answers.KeptVersion, "versions", "Versions",
            "A memory's former contents, oldest first, as far as the setting `history` keeps them.",
        ),
    ),
    Operation(
        method="PATCH", path=MEMORY, verb="update", scope="write", answer=answers.Memory,
        body=UpdateBody, problems=[404, 409],
    ),
    Operation(
        method="DELETE", path=MEMORY, verb="delete", scope="admin",
        answer=answers.ErasureReceipt, problems=[404, 409],
    ),
    *(
        Operation(
            method="POST", path=f"{MEMORY}/{verb}", verb=verb, scope="forget",
            answer=answers.Changed, body=REASON,
            problems=[404, 409, 507] if verb == "restore" else [404, 409],
        )
        for verb in ("archive", "forget", "restore")
    ),
    *(
        Operation(
            method="POST", path=f"{MEMORY}/{verb}", verb=verb, scope="write",
            answer=answers.Scored, problems=[404, 409],
        )
        for verb in ("promote", "demote")
    ),
    Operation(
        method="POST", path=f"{MEMORY}/feedback", verb="feedback", scope="write", status=204,
        answer=None, problems=[404, 409],
        body=BodySpec(
            "FeedbackBody", "Feedback on a memory that a search returned.",
            {"helpful": True, "question": "Where does Ada live?"},
        ),
    ),
    Operation(
        method="GET", path="/changes", verb="changes", scope="read",
        answer=list_of(
            answers.FoundChange, "changes", "ChangePage",
            "A page of pairs of memories, the newest first.", is_page=True,
        ),
    ),
    Operation(
        method="PUT", path="/changes/{older}/{newer}", verb="decide_change", scope="write",
        status=204, answer=None, problems=[404, 409],
        body=BodySpec(
            "DecisionBody", "Whether the newer memory replaces the older one.",
            {"decision": "rejected", "reason": "it is the other API"},
        ),
    ),
    Operation(
        method="GET", path="/sessions", verb="sessions", scope="read",
        answer=list_of(
            answers.Session, "sessions", "SessionPage", "A page of sessions, latest first.",
            is_page=True,
        ),
    ),
    Operation(
        method="GET", path="/left-off", verb="left_off", scope="read", answer=answers.LeftOff
    ),
    Operation(
        method="GET", path="/users", verb="users", scope="read",
        answer=list_of(
            answers.User, "users", "UserPage", "A page of users, by their ids.", is_page=True,
        ),
    ),
    Operation(
        method="GET", path="/stats", verb="stats", scope="read",
        answer=list_of(
            answers.User, "users", "UserList", "Users with the sizes of their memories.",
        ),
    ),
    Operation(
        method="GET", path="/users/{user_id:path}/life", verb="life", scope="read",
        answer=answers.UserLife,
    ),
    Operation(
        method="GET", path="/growth", verb="growth", scope="read",
        answer=list_of(
            answers.Day, "days", "Days", "Days on which exchanges were stored, the latest first.",
        ),
    ),
    Operation(
        method="GET", path="/statistics", verb="statistics", scope="read",
        answer=answers.AllSearches, check=lambda caller, _: caller.refuse_bound(),
    ),
    # Erasures
    Operation(
        method="POST", path="/erasures", verb="erase", scope="admin", status=201,
        answer=answers.ErasureReceipt, location="/erasures/{erasure_id}", problems=[404, 409],
        body=BodySpec(
            "EraseBody",
            "Selection to erase for good: all of a user's memory, a session, or a message.",
            {"user_id": "ada", "session_id": "monday"},
        ),
    ),
    Operation(
        method="POST", path="/erasures/everywhere", verb="erasures.everywhere", scope="admin",
        answer=answers.ErasureReceipts, problems=[404],
    ),
    Operation(
        method="GET", path="/erasures", verb="erasures.list", scope="admin",
        answer=answers.ErasureReceipts,
    ),
    Operation(
        method="GET", path="/erasures/{erasure_id}", verb="erasures.get", scope="admin",
        answer=answers.ErasureReceipt, problems=[404],
    ),
    # Projects
    Operation(
        method="GET", path="/projects", verb="projects.list", scope="read",
        answer=list_of(
            answers.Project, "projects", "ProjectList",
            "The projects by name, with what a search in each reaches.",
        ),
    ),
    Operation(
        method="POST", path="/projects", verb="projects.create", scope="write", status=201,
        answer=answers.Project,
        body=BodySpec(
            "ProjectBody", "A new pool of sessions.",
            {"name": "kitchen", "session_ids": ["monday"]},
        ),
    ),
    Operation(
        method="POST", path=f"{PROJECT}/add", verb="projects.add", scope="write",
        answer=answers.Project, body=SESSIONS, problems=[404],
    ),
    Operation(
        method="POST", path=f"{PROJECT}/remove", verb="projects.remove", scope="write",
        answer=answers.Project, body=SESSIONS, problems=[404],
    ),
    Operation(
        method="GET", path=PROJECT, verb="projects.get", scope="read", answer=answers.Project,
        problems=[404],
    ),
    Operation(
        method="DELETE", path=PROJECT, verb="projects.delete", scope="write", status=204,
        answer=None, problems=[404],
    ),
    # Entities
    Operation(
        method="GET", path="/entities", verb="entities.list", scope="read",
        answer=list_of(
            answers.Entity, "entities", "EntityList",
            "Entities, the one with the most mentions first.",
        ),
    ),
    Operation(
        method="POST", path="/entities/rebuild", verb="entities.rebuild", scope="admin",
        answer=answers.ChunkCount, problems=[404],
    ),
    Operation(
        method="GET", path="/entities/{name:path}", verb="entities.get", scope="read",
        answer=answers.EntityDetails, problems=[404],
    ),
)  # fmt: skip

router = APIRouter(prefix="/v1", tags=["memories"])
for operation in OPERATIONS:
    operation.add_to(router)
