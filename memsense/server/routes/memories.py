"""Operations on memories, sessions, projects, entities and users: store, list, change, erase."""

from fastapi import APIRouter

from memsense.server import answers
from memsense.server.answers import list_of
from memsense.server.operations import Operation
from memsense.server.requests import BodySpec, NewMemories, NewSessions, UpdateBody

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
        "POST", "/memories", "add", "write", answers.AddedMemories, status=201, body=NewMemories,
        problems=[409, 507],
    ),
    Operation(
        "POST", "/memories/many", "add_many", "write",
        list_of(
            answers.AddedMemories, "sessions", "AddedSessions",
            "Memories that were stored of each session, in the request's order.",
        ),
        status=201, body=NewSessions, problems=[409, 507],
    ),
    Operation(
        "GET", "/memories", "list", "read",
        list_of(answers.Memory, "memories", "MemoryPage", "A page of memories.", is_page=True),
    ),
    Operation(
        "GET", "/memories/recent", "recent", "read",
        list_of(answers.Memory, "memories", "MemoryList", "Memories, latest first."),
    ),
    Operation(
        "GET", "/memories/get-many", "get_many", "read",
        list_of(
            answers.Memory, "memories", "MemoriesById",
            "Memories with these ids; ids that do not exist are left out.",
        ),
    ),
    Operation(
        "GET", "/memories/superseded-facts", "superseded_facts", "read",
        list_of(
            answers.ChangedFact, "facts", "SupersededFacts",
            "The changes in which these memories stand, on either side.",
        ),
    ),
    Operation("GET", MEMORY, "get", "read", answers.Memory, problems=[404]),
    Operation(
        "GET", f"{MEMORY}/history", "history", "read",
        list_of(
            answers.HistoryEntry, "events", "History", "A memory's history, oldest event first.",
        ),
        problems=[404],
    ),
    Operation(
        "GET", f"{MEMORY}/versions", "versions", "read",
        list_of(
            answers.KeptVersion, "versions", "Versions",
            "A memory's former contents, oldest first, as far as the setting `history` keeps them.",
        ),
        problems=[404],
    ),
    Operation(
        "PATCH", MEMORY, "update", "write", answers.Memory, body=UpdateBody, problems=[404, 409],
    ),
    Operation("DELETE", MEMORY, "delete", "admin", answers.ErasureReceipt, problems=[404, 409]),
    *(
        Operation(
            "POST", f"{MEMORY}/{verb}", verb, "forget", answers.Changed, body=REASON,
            problems=[404, 409, 507] if verb == "restore" else [404, 409],
        )
        for verb in ("archive", "forget", "restore")
    ),
    *(
        Operation("POST", f"{MEMORY}/{verb}", verb, "write", answers.Scored, problems=[404, 409])
        for verb in ("promote", "demote")
    ),
    Operation(
        "POST", f"{MEMORY}/feedback", "feedback", "write", status=204, answer=None,
        problems=[404, 409],
        body=BodySpec(
            "FeedbackBody", "Feedback on a memory that a search returned.",
            {"helpful": True, "question": "Where does Ada live?"},
        ),
    ),
    Operation(
        "GET", "/changes", "changes", "read",
        list_of(
            answers.FoundChange, "changes", "ChangePage",
            "A page of pairs of memories, the newest first.", is_page=True,
        ),
    ),
    Operation(
        "PUT", "/changes/{older}/{newer}", "decide_change", "write", status=204, answer=None,
        problems=[404, 409],
        body=BodySpec(
            "DecisionBody", "Whether the newer memory replaces the older one.",
            {"decision": "rejected", "reason": "it is the other API"},
        ),
    ),
    Operation(
        "GET", "/sessions", "sessions", "read",
        list_of(
            answers.Session, "sessions", "SessionPage", "A page of sessions, latest first.",
            is_page=True,
        ),
    ),
    Operation("GET", "/left-off", "left_off", "read", answers.LeftOff),
    Operation(
        "GET", "/users", "users", "read",
        list_of(answers.User, "users", "UserPage", "A page of users, by their ids.", is_page=True),
    ),
    Operation(
        "GET", "/stats", "stats", "read",
        list_of(answers.User, "users", "UserList", "Users with the sizes of their memories."),
    ),
    Operation("GET", "/users/{user_id:path}/life", "life", "read", answers.UserLife),
    Operation(
        "GET", "/growth", "growth", "read",
        list_of(
            answers.Day, "days", "Days", "Days on which exchanges were stored, the latest first.",
        ),
    ),
    Operation(
        "GET", "/statistics", "statistics", "read", answers.AllSearches,
        check=lambda caller, _: caller.refuse_bound(),
    ),
    # Erasures
    Operation(
        "POST", "/erasures", "erase", "admin", answers.ErasureReceipt, status=201,
        location="/erasures/{erasure_id}", problems=[404, 409],
        body=BodySpec(
            "EraseBody",
            "Selection to erase for good: all of a user's memory, a session, or a message.",
            {"user_id": "ada", "session_id": "monday"},
        ),
    ),
    Operation(
        "POST", "/erasures/everywhere", "erasures.everywhere", "admin", answers.ErasureReceipts,
        problems=[404],
    ),
    Operation(
        "POST", "/erasures/redact", "erasures.redact", "admin", answers.Redaction, problems=[404],
        body=BodySpec(
            "RedactBody",
            "Memories whose secrets are replaced for good, and the kinds of these.",
            {"user_id": "ada", "dry_run": True},
        ),
    ),
    Operation("GET", "/erasures", "erasures.list", "admin", answers.ErasureReceipts),
    Operation(
        "GET", "/erasures/{erasure_id}", "erasures.get", "admin", answers.ErasureReceipt,
        problems=[404],
    ),
    # Projects
    Operation(
        "GET", "/projects", "projects.list", "read",
        list_of(
            answers.Project, "projects", "ProjectList",
            "The projects by name, with what a search in each reaches.",
        ),
    ),
    Operation(
        "POST", "/projects", "projects.create", "write", answers.Project, status=201,
        body=BodySpec(
            "ProjectBody", "A new pool of sessions.",
            {"name": "kitchen", "session_ids": ["monday"]},
        ),
    ),
    Operation(
        "POST", f"{PROJECT}/add", "projects.add", "write", answers.Project, body=SESSIONS,
        problems=[404],
    ),
    Operation(
        "POST", f"{PROJECT}/remove", "projects.remove", "write", answers.Project, body=SESSIONS,
        problems=[404],
    ),
    Operation("GET", PROJECT, "projects.get", "read", answers.Project, problems=[404]),
    Operation(
        "DELETE", PROJECT, "projects.delete", "write", status=204, answer=None, problems=[404],
    ),
    # Entities
    Operation(
        "GET", "/entities", "entities.list", "read",
        list_of(
            answers.Entity, "entities", "EntityList",
            "Entities, the one with the most mentions first.",
        ),
    ),
    Operation(
        "POST", "/entities/rebuild", "entities.rebuild", "admin", answers.ChunkCount,
        problems=[404],
    ),
    Operation(
        "GET", "/entities/{name:path}", "entities.get", "read", answers.EntityDetails,
        problems=[404],
    ),
)  # fmt: skip

router = APIRouter(prefix="/v1", tags=["memories"])
for operation in OPERATIONS:
    operation.add_to(router)
