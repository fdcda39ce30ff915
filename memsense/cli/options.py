"""Options of commands: those that MemSense's signatures declare, and those of the CLI alone."""

import inspect
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

import typer

from memsense.cli.app import JSON_REQUESTED
from memsense.cli.declared import VERBS
from memsense.cli.described import described_parameters
from memsense.cli.output import OutputForm
from memsense.cli.values import (
    check_user_scope,
    read_choices,
    read_ids,
    read_object,
    read_overrides,
)
from memsense.search.profiles import PROFILES
from memsense.timezones import find_machine_zone

_ID = re.compile(r"_ids?$")
_ID_OR_PLURAL = re.compile(r"(_ids?|s)$")

Selection: TypeAlias = dict[str, Any]
"""Arguments of a verb, made from a call's options, by name; absent options are left out."""


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a completion that offers the names with the typed beginning."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


# Options of the CLI alone ------------------------------------------------------------------------


def _apply_json(ctx: typer.Context, output: OutputForm) -> OutputForm:
    if not ctx.meta.get(JSON_REQUESTED):
        return output
    if output not in {"table", "json"}:
        raise typer.BadParameter(f"--json is --output json, not {output}")
    return "json"


Output = Annotated[
    OutputForm,
    typer.Option(
        "--output",
        "-o",
        callback=_apply_json,
        help="Form of the output: a table for people, one JSON text, or for each item a JSON line"
        " or a CSV row.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print JSON; the page 'Output of the commands' lists the fields."),
]
User = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="User whose memory to read; or --all-users."),
]
AllUsers = Annotated[
    bool, typer.Option("--all-users", help="Read the memory of all users in the namespace.")
]
AnyUser = Annotated[
    str | None,
    typer.Option("--user", "-u", metavar="NAME", help="Only this user's. Default: all users'."),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="NAME", help="Person who changes it, for the history. Default: your login."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for a confirmation.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a route's weight (0 to 5) or a constant of the profile, such as lexical=1.5."
        " Repeatable.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="ROUTE", help="Leave a route out. Repeatable."),
]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help=VERBS["search"]["query"][2])]
ChunkId = Annotated[
    int, typer.Argument(metavar="CHUNK", help="Id of a chunk, as searches and lists show it.")
]
ChunkIds = Annotated[
    list[int],
    typer.Argument(metavar="CHUNK", help="Ids of chunks, as searches and lists show them."),
]


# Declared options --------------------------------------------------------------------------------


class Form(NamedTuple):
    """Form of a parameter on the command line, where it differs from what its name and type say."""

    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: Sequence[str] = ()
    note: str = ""


FORMS: Mapping[str, Form] = {
    "user_id": Form(("--user", "-u"), "NAME"),
    "agent_id": Form(metavar="NAME"),
    "project": Form(metavar="NAME"),
    "by": Form(metavar="NAME"),
    "rules": Form(("--rules/--no-rules",)),
    "card": Form(("--card/--no-card",)),
    "silence": Form(metavar="CHANCE"),
    "redact": Form(("--redact/--no-redact",)),
    "profile": Form(
        ("--profile", "-p"), "NAME", tuple(PROFILES), f"Shipped are {', '.join(PROFILES)}."
    ),
    "top_k": Form(("--top-k", "-k")),
    "limit": Form(("--limit", "-n")),
    "count": Form(("--count", "-n")),
    "granularity": Form(("--granularity", "-g")),
    "statuses": Form(("--status",), "STATUS"),
    "occurred_at": Form(("--at",)),
    "dry_run": Form(("--dry-run", "-n")),
    "min_score": Form(metavar="SCORE"),
    "timezone": Form(metavar="ZONE"),
    "exclude": Form(metavar="ID"),
    "exclude_sessions": Form(metavar="ID"),
    "ttl": Form(metavar="TTL"),
    "reason": Form(metavar="TEXT"),
    "question": Form(metavar="TEXT"),
    "note": Form(metavar="TEXT"),
}

_METAVARS = {int: "N", float: "N", datetime: "TIME", timedelta: "DURATION"}
_NOTES = {datetime: "Example: 2025-03-01.", dict: "Example: '{\"room\": 3}'."}
_CODE = re.compile(r"`([^`]+)`")


def options_of(
    verb: str, *, leave_out: Container[str] = (), into: str = "selection"
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a verb, in place of its parameter `into`.

        @options_of("search")
        def search(ctx: typer.Context, question: Question, *, selection: Selection) -> None: ...

    A parameter of the verb that is required, left out, or a parameter of the command itself makes
    no option. The command gets the options of a call as arguments for the verb.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        names = [
            name
            for name, (_, default, _) in VERBS[verb].items()
            if default is not ... and name not in leave_out and name not in own
        ]

        @wraps(command)
        def run(**values: Any) -> None:
            options = {name: values.pop(name, None) for name in names}
            if "overrides" in names:
                changes, without = values.pop("changes"), values.pop("without")
                options["overrides"] = read_overrides(changes or (), without or ())
            if "all_users" in names:
                check_user_scope(options["user_id"], all_users=options["all_users"])
            selection = {
                name: read_value(verb, name, value)
                for name, value in options.items()
                # Without an option the verb's own default counts. A 0 is a value, though.
                if value is not None and value not in ([], {})
                if value is not False or _is_pair(name)
            }
            if "timezone" in names and (zone := selection.get("timezone") or find_machine_zone()):
                selection["timezone"] = zone
            command(**values, **{into: selection})

        declared = [option for name in names for option in declared_options(verb, name)]
        return _with_options(run, command, {into: declared})

    return decorate


def options_read_by(
    **readers: Callable[..., Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of functions, in place of the parameters that they read.

    @options_read_by(study=read_study)
    def locomo(ctx: typer.Context, *, study: Study) -> None: ...
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options = {into: described_parameters(read) for into, read in readers.items()}

        @wraps(command)
        def run(**values: Any) -> None:
            for into, read in readers.items():
                values[into] = read(**{item.name: values.pop(item.name) for item in options[into]})
            command(**values)

        declared = {
            into: [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in items]
            for into, items in options.items()
        }
        return _with_options(run, command, declared)

    return decorate


def _with_options(
    run: Callable[..., None],
    command: Callable[..., None],
    declared: Mapping[str, Sequence[inspect.Parameter]],
) -> Callable[..., None]:
    """Give a function the command's signature, with options in place of the parameters named."""
    parameters: list[inspect.Parameter] = []
    for item in inspect.signature(command).parameters.values():
        parameters += declared.get(item.name, [item])
    # Typer reads both of these.
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {}
    return run


def declared_options(verb: str, name: str) -> list[inspect.Parameter]:
    """Return the parameters that make a declared parameter's options: one, for overrides two."""
    if name == "overrides":
        return [_parameter("changes", Changes, None), _parameter("without", Without, None)]
    kind, default, _ = VERBS[verb][name]
    form = FORMS.get(name, Form())
    base = get_origin(kind) or kind
    is_list = base is list
    choices = form.choices or choices_of(kind)
    id_or_name = "ID" if _ID.search(name) else option_name(name).upper()
    metavar = form.metavar or _METAVARS.get(base) or id_or_name
    option = typer.Option(
        *(form.flags or (flag_of(verb, name),)),
        metavar=None if base in (bool, Literal) else "JSON" if base is dict else metavar,
        help=help_of(verb, name),
        autocompletion=complete_from(choices) if choices else None,
    )
    if base is bool and _is_pair(name):
        return [_parameter(name, Annotated[bool | None, option], None)]
    if base is bool:
        return [_parameter(name, Annotated[bool, option], bool(default))]
    if is_list:
        return [_parameter(name, Annotated[list[str] | None, option], None)]
    value = kind if base in (int, float, Literal) else str
    annotation = Annotated[value | None if default is None else value, option]
    return [_parameter(name, annotation, default)]


def _is_pair(name: str) -> bool:
    """Return whether an option has a flag for no, too: without both the setting decides."""
    return any("/" in flag for flag in FORMS.get(name, Form()).flags)


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def option_name(name: str) -> str:
    """Return an option's name without dashes before it: `session` for `session_ids`."""
    return _ID_OR_PLURAL.sub("", name).replace("_", "-")


def flag_of(verb: str, name: str) -> str:
    """Return the long flag of a declared parameter."""
    if form := FORMS.get(name, Form()).flags:
        return form[0].partition("/")[0]
    kind = VERBS[verb][name][0]
    is_singular = name.endswith("_id") or get_origin(kind) is list
    return f"--{option_name(name) if is_singular else name.replace('_', '-')}"


def help_of(verb: str, name: str) -> str:
    """Return the help of a declared parameter: its text, and what its form on a command line adds.

    A parameter that the text names becomes its flag, such as --all-users for `all_users`.
    """
    kind, _, text = VERBS[verb][name]

    def flag(code: re.Match[str]) -> str:
        return flag_of(verb, code[1]) if code[1] in VERBS[verb] else code[1]

    base = get_origin(kind) or kind
    notes = [_NOTES.get(base), FORMS.get(name, Form()).note]
    notes += ["Repeatable."] if base is list else []
    return " ".join([_CODE.sub(flag, text), *filter(None, notes)])


def choices_of(kind: Any) -> tuple[str, ...]:
    """Return the choices of a list of literals; none for other types."""
    member = get_args(kind)[0] if get_origin(kind) is list else None
    return get_args(member) if get_origin(member) is Literal else ()


def read_value(verb: str, name: str, value: Any) -> Any:
    """Return the argument that an option's value makes; raise BadParameter for a bad value."""
    kind = VERBS[verb][name][0]
    if kind == list[int | str]:
        return read_ids(value)
    if get_origin(kind) is dict and isinstance(value, str):
        return read_object(value, option=flag_of(verb, name))
    if choices := choices_of(kind):
        flag = flag_of(verb, name)
        return read_choices(value, choices, flag.strip("-").replace("-", " "), option=flag)
    return value
