"""Help texts of options, from the `Args:` sections of the commands' docstrings."""

import inspect
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Annotated, Any, get_args, get_origin

import typer

from memsense.text.docstrings import read_arguments, without_arguments


def with_help_texts(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command, with its `Args:` section as the help of its options and arguments.

    A parameter by keyword is an option, any other an argument. A parameter that the section lacks
    has a help of its own, or none.
    """
    if not read_arguments(command.__doc__ or ""):
        return command

    @wraps(command)
    def run(**values: Any) -> Any:
        return command(**values)

    run.__doc__ = without_arguments(command.__doc__ or "")
    # Typer reads both of these.
    run.__signature__ = inspect.Signature(described_parameters(command))  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {}
    return run


def described_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a function's parameters, as options and arguments with the texts of `Args:`."""
    texts = read_arguments(function.__doc__ or "")
    return [
        _described(item, texts[item.name]) if item.name in texts else item
        for item in inspect.signature(function).parameters.values()
    ]


def _described(item: inspect.Parameter, text: str) -> inspect.Parameter:
    kind: Any = item.annotation
    if get_origin(kind) is Annotated:
        kind, info = get_args(kind)
        info = copy(info)
    elif item.kind is not item.KEYWORD_ONLY:
        info = typer.Argument()
    elif kind is bool:
        # Without a flag of its own a switch would have another one for no.
        info = typer.Option(f"--{item.name.replace('_', '-')}")
    else:
        info = typer.Option()
    info.help = text
    return item.replace(annotation=Annotated[kind, info])
