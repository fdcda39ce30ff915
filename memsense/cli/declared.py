"""Parameters of the verbs that the command line calls, without importing MemSense.

That import takes 0.6 s of processor time, more than all of `memsense search --help`. Written by
`make generate` from the public signatures; DO NOT CHANGE! Change the signatures instead.
"""

# ruff: noqa: E501
# fmt: off

from datetime import datetime, timedelta
from typing import Any, Literal

Declared = tuple[Any, Any, str]
"""A parameter's type, default and text; a required parameter has the default `...`."""

PARAMETERS: dict[str, Declared] = {
    "query": (str, ..., "The question in plain words, at most 8,000 characters."),
    "top_k": (int, 8, "Maximum number of hits, up to 1,000."),
    "user_id": (str, None, "Whose memory to read: an id of your own. Required without `all_users`."),
    "all_users": (bool, False, "Read the memory of all users in the namespace."),
    "agent_id": (str, None, "Only memories of conversations with this agent."),
    "session_ids": (list[str], None, "Only memories of these sessions."),
    "project": (str, None, "Only memories of this project: about it, or of a session in the pool of that name."),
    "since": (datetime, None, "Only memories of events from this time on, ISO 8601."),
    "until": (datetime, None, "Only memories of events before this time, ISO 8601."),
    "granularity": (Literal["turn", "session"], None, 'Kind of hits: "turn" for exchanges, "session" for whole sessions; default: the profile\'s, which is "turn" in all shipped profiles but `memsense`.'),
    "min_score": (float, None, "Lowest score of a hit; an empty answer has a note with the best score."),
    "exclude": (list[int | str], (), "Chunk ids (int) and message ids (str) to leave out, for example what the prompt has already. A session leaves with its exchanges, a part of an exchange with the other parts."),
    "exclude_sessions": (list[str], (), "Sessions to leave out, for example the one that the prompt belongs to."),
    "tags": (list[str], None, "Only memories with at least one of these tags."),
    "kinds": (list[Literal["stable", "preference", "episodic", "ephemeral"]], None, 'Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".'),
    "metadata": (dict[str, Any], None, 'Only memories whose metadata contains this JSON object, or satisfies its conditions, such as {"priority": {"gte": 3}}.'),
    "asked_at": (datetime, None, 'Moment that "last week" in the question counts from; default: now.'),
    "timezone": (str, None, "The asker's IANA time zone, such as Europe/Lisbon, whose days count; default: the setting `timezone`, else the zone of `asked_at`, else UTC."),
    "as_of": (datetime, None, "Search memory as it stood at this moment; needs the setting `history` to have been on. What was erased or has expired since is gone from the past too."),
    "profile": (str, None, "A profile or the name of one, used as it is; default: the namespace's settings."),
    "overrides": (dict[str, Any], None, 'Weights of routes (0 to 5) and constants of the profile to change for this call alone, such as {"lexical": 1.5}.'),
    "prompt_kind": (Literal["question", "request"], None, 'Kind of the prompt: a "question" that memories answer, or a "request" that they should shape, such as one for advice or code; default: detected.'),
    "content_budget": (int, 5000, "Maximum characters of a hit's text; longer texts are cut around what the question asks for."),
    "trace": (bool, None, "Record the search for `traces` and the views; default: a share of searches, by the setting `trace_sample`."),
    "timeout": (float, None, "Seconds that the whole call may take: embedding, SQL and retries; default: any."),
    "prompt": (str, ..., "The prompt, at most 4,000,000 characters. What is pasted into it, such as a log, is not searched for; of a long one only the sentences that ask are."),
    "max_tokens": (int, 1000, "Maximum length of the text, in tokens."),
    "project 2": (str, None, "The project that the prompt belongs to: memories of others come only if the prompt surely asks for them, under the project's name."),
    "silence": (float, None, "Chance, from 0 to 1, that something known concerns the prompt below which nothing is returned; 0 returns what fits of any prompt. Default: the setting MEMSENSE_SILENCE, which is 0.5."),
    "card": (bool, True, "Begin with who the user is and what they wish, if the budget is of 800 tokens or more."),
    "format": (Literal["markdown", "xml"], "markdown", 'Layout of the text: "markdown" or "xml".'),
    "chunk_id": (int, ..., "The memory's chunk id, as searches and lists show it."),
    "limit": (int, 10, "Maximum number of items."),
    "session_id": (str, None, "Only memories of this session."),
    "granularity 2": (Literal["turn", "session"], "turn", '"turn" for exchanges, "session" for sessions.'),
    "statuses": (list[Literal["active", "archived", "deleted"]], ("active",), 'Which to list: "active", "archived", "deleted" (forgotten, without texts).'),
    "order": (Literal["newest", "oldest"], "newest", '"newest" or "oldest" event time first.'),
    "limit 2": (int, 50, "Maximum number of items."),
    "cursor": (str, None, "`next_cursor` of the page before; default: the first page."),
    "user_id 2": (str, ..., "Whose memory to read: an id of your own."),
    "project 3": (str, ..., "The project: a repository's address, a folder, or another name of one."),
    "max_tokens 2": (int, 300, "Maximum length of the text, in tokens."),
    "exclude_sessions 2": (list[str], (), "Sessions to leave out, for example the one that goes on."),
    "user_id 3": (str, None, "Only this user's; default: all users'."),
    "user_id 4": (str, None, 'Owner of what the logs hold, unless a log names its own; default: "default".'),
    "mode": (Literal["turn", "session", "hybrid"], "turn", 'What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for both.'),
    "map": (str, None, "Where the files keep what memory needs: columns or JSONPaths by field, or a format's file."),
    "redact": (bool, None, "Replace secrets, such as keys and passwords, by their kind before anything is stored; default: as MEMSENSE_REDACT says."),
    "embed": (Literal["now", "later", "strict"], None, 'When to compute vectors: "now" (a failing embedder leaves them to a job), "later" (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is stored); default: the setting MEMSENSE_EMBED.'),
    "dry_run": (bool, False, "Read and count, but store nothing."),
    "messages": (str, ..., "A text that the user said, or messages: dicts with `role` and `content`, and optionally `id`, `at` (time) and `name`; messages of OpenAI, Anthropic and LangChain are accepted too."),
    "user_id 5": (str, ..., "Whose memory it becomes: an id of your own, up to 500 characters."),
    "session_id 2": (str, None, "The conversation that it belongs to: an id of your own; default: the day."),
    "agent_id 2": (str, None, "The agent that the conversation was with."),
    "project 4": (str, None, "The project that it is about, such as a repository's address or a folder; `search` can be limited to it."),
    "exchange_gap": (timedelta, None, 'Silence between two messages of one side that ends an exchange, so that the later message has a day of its own: a timedelta or a text such as "12h", or 0 for none; default: 6h.'),
    "task_tag": (str, None, "Label of the task; it replaces the one that the rules find."),
    "tags 2": (list[str], (), "Labels to store with it; they replace those of the rules."),
    "facets": (dict[str, Any], None, "Texts of the facets `personal_info`, `preferences` and `events`; they replace those that the rules find."),
    "memory_kind": (Literal["stable", "preference", "episodic", "ephemeral"], None, 'How lasting it is: "stable", "preference", "episodic" or "ephemeral"; default: by rules.'),
    "confidence": (float, 1.0, "How certain it is, from 0 to 1."),
    "metadata 2": (dict[str, Any], None, "A JSON object of your own, returned with hits and usable as a filter."),
    "expires_at": (datetime, None, "When it expires: no search finds it afterwards, and a job deletes it."),
    "ttl": (timedelta, None, 'How long from now until it expires: a timedelta or a text such as "12h" or "30d"; "never" overrides the namespace\'s rules.'),
    "key": (str, None, "Idempotency key: a call repeated under its key within seven days is done once."),
    "vectors": (bool, False, "Write the vectors too, so that an import need not embed the texts again."),
    "content": (str, None, 'New texts by side, {"user": ..., "assistant": ...}; a plain text where the chunk has one side only. Of a long exchange, the text of this part.'),
    "tags 3": (list[str], None, "Labels that replace the present ones."),
    "metadata 3": (dict[str, Any], None, "JSON object that replaces the present one."),
    "occurred_at": (datetime, None, "When it was said or happened; ISO 8601 texts are accepted."),
    "reason": (str, None, "Why, for the memory's history; up to 10,000 characters."),
    "helpful": (bool, ..., "Whether the memory helped to answer."),
    "question": (str, None, "The question that it was returned for."),
    "note": (str, None, "What was good or wrong about it."),
    "user_id 6": (str, None, "Whose memory; needed unless only one user has that session or message."),
    "session_id 3": (str, None, "Erase this session only."),
    "message_id": (str, None, "Erase only the exchange that holds this message."),
    "by": (str, None, "Who does it, for the receipt or history; default: the operating system's user."),
    "key 2": (str, None, "Idempotency key: a call repeated under its key returns the receipt of the first, as long as the receipt is stored."),
    "trace_id": (str, ..., "Id of a recorded search, as its result has it."),
    "profile 2": (str, None, "A profile or its name to rank by; default: the recorded constants."),
    "as_of_then": (bool, False, "Search memory as it stood when the trace was recorded, where the setting `history` has kept that."),
    "count": (int, 20, "Number of recorded searches, the latest first."),
    "limit 3": (int, 20, "Maximum number of items."),
    "empty": (bool, False, "Only searches without hits."),
    "slower_than": (float, None, "Only searches that took more milliseconds than this."),
}
"""Every declaration once: by name, with a number where verbs declare a name differently."""

_VERBS = {
    "search": ["query", "top_k", "user_id", "all_users", "agent_id", "session_ids", "project", "since", "until", "granularity", "min_score", "exclude", "exclude_sessions", "tags", "kinds", "metadata", "asked_at", "timezone", "as_of", "profile", "overrides", "prompt_kind", "content_budget", "trace", "timeout"],
    "context": ["prompt", "max_tokens", "user_id", "all_users", "project 2", "silence", "card", "agent_id", "session_ids", "since", "until", "exclude", "exclude_sessions", "tags", "kinds", "metadata", "asked_at", "timezone", "as_of", "profile", "overrides", "prompt_kind", "format", "trace", "timeout"],
    "why_not": ["query", "chunk_id", "top_k", "user_id", "all_users", "agent_id", "session_ids", "project", "since", "until", "granularity", "min_score", "exclude", "exclude_sessions", "tags", "kinds", "metadata", "asked_at", "timezone", "as_of", "profile", "overrides", "prompt_kind", "timeout"],
    "recent": ["limit", "user_id", "all_users", "agent_id", "session_id", "granularity 2", "timeout"],
    "list": ["user_id", "all_users", "agent_id", "session_ids", "project", "since", "until", "tags", "kinds", "metadata", "granularity 2", "statuses", "order", "limit 2", "cursor", "timeout"],
    "sessions": ["user_id", "all_users", "agent_id", "project", "since", "until", "tags", "kinds", "limit 2", "cursor", "timeout"],
    "left_off": ["user_id 2", "project 3", "max_tokens 2", "exclude_sessions 2", "timeout"],
    "stats": ["user_id 3", "timeout"],
    "ingest": ["user_id 4", "mode", "map", "redact", "embed", "dry_run"],
    "add": ["messages", "user_id 5", "session_id 2", "agent_id 2", "project 4", "mode", "exchange_gap", "task_tag", "tags 2", "facets", "memory_kind", "confidence", "metadata 2", "expires_at", "ttl", "redact", "embed", "key", "timeout"],
    "export_to": ["user_id", "all_users", "vectors"],
    "update": ["chunk_id", "content", "facets", "tags 3", "metadata 3", "occurred_at", "expires_at", "ttl", "reason", "key", "timeout"],
    "feedback": ["chunk_id", "helpful", "question", "note", "key", "timeout"],
    "forget": ["chunk_id", "reason", "key", "timeout"],
    "archive": ["chunk_id", "reason", "key", "timeout"],
    "restore": ["chunk_id", "reason", "key", "timeout"],
    "erase": ["user_id 6", "session_id 3", "message_id", "by", "timeout", "key 2"],
    "delete": ["chunk_id", "by", "timeout", "key 2"],
    "traces.replay": ["trace_id", "profile 2", "overrides", "as_of_then"],
    "traces.compare": ["count", "profile 2", "overrides", "user_id 3"],
    "traces.list": ["limit 3", "user_id 3", "empty", "slower_than", "cursor"],
}

VERBS: dict[str, dict[str, Declared]] = {
    verb: {name.partition(" ")[0]: PARAMETERS[name] for name in names}
    for verb, names in _VERBS.items()
}
