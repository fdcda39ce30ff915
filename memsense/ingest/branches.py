"""Finds the living path in a log that keeps abandoned answers: trees of parent pointers."""

from collections.abc import Iterable, Mapping, Sequence


def path_to_root(leaf: str, parents: Mapping[str, str | None]) -> list[str]:
    """The nodes from the root down to the leaf; a dangling parent or a cycle ends the way."""
    path: list[str] = []
    visited: set[str] = set()
    node: str | None = leaf
    while node is not None and node in parents and node not in visited:
        visited.add(node)
        path.append(node)
        node = parents[node]
    path.reverse()
    return path


def find_leaves(parents: Mapping[str, str | None]) -> list[str]:
    """The nodes that are nobody's parent, in order; the last node where all are in a cycle."""
    inner = set(parents.values())
    leaves = [node for node in parents if node not in inner]
    return leaves or list(parents)[-1:]


def find_latest_leaf(parents: Mapping[str, str | None], times: Mapping[str, float]) -> str | None:
    """The leaf whose way to the root holds the greatest time; of equals, the last."""
    latest: dict[str, float] = {}
    leaves = find_leaves(parents)
    for leaf in leaves:
        way: list[str] = []
        node: str | None = leaf
        while node is not None and node in parents and node not in latest:
            latest[node] = times[node]
            way.append(node)
            node = parents[node]
        best = latest.get(node, 0.0) if node is not None else 0.0
        for step in reversed(way):
            best = latest[step] = max(best, times[step])
    return max(reversed(leaves), key=lambda leaf: latest[leaf], default=None)


def other_branches(
    main: Sequence[str], parents: Mapping[str, str | None], user_nodes: Iterable[str]
) -> list[tuple[str, list[str]]]:
    """Each abandoned branch as (leaf, path): its own nodes, from the question they answer."""
    questions = set(user_nodes)
    taken = set(main)
    branches: list[tuple[str, list[str]]] = []
    for leaf in find_leaves(parents):
        path = path_to_root(leaf, parents)
        fork = next((i for i, node in enumerate(path) if node not in taken), len(path))
        if fork == len(path):
            continue
        taken.update(path)
        while fork > 0 and path[fork] not in questions:
            fork -= 1
        branches.append((leaf, path[fork:]))
    return branches


def living_lines(ids: Sequence[str | None], parents: Sequence[str | None]) -> set[int]:
    """The positions of the lines that are on the path to the last line.

    Where the chain breaks (a parent never written, a compaction, lines without ids) the walk
    goes on at the line before the break, in file order, so that only a branch that the log
    itself shows as abandoned is left out.
    """
    positions = {known: i for i, known in enumerate(ids) if known is not None}
    living: set[int] = set()
    start = len(ids) - 1
    while start >= 0:
        lowest = start
        line: int | None = start
        while line is not None and line not in living:
            living.add(line)
            lowest = min(lowest, line)
            parent = parents[line]
            line = positions.get(parent) if parent is not None else None
        start = lowest - 1
    living_ids = {ids[line] for line in living} - {None}
    return living | {line for line, known in enumerate(ids) if known in living_ids}
