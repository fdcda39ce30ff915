"""Branches of a conversation: the one that was shown, and the abandoned ones.

A program that lets a person edit a prompt or regenerate an answer keeps both, as a tree of messages
that point to their parents. In every function a missing parent is a root, and a cycle ends the
walk: both occur in real logs (anthropics/claude-code#22526 names parents that were never written).
"""

from collections.abc import Iterable, Mapping, Sequence


def path_to_root(leaf: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the nodes from the root down to the leaf."""
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
    """Return the nodes without children, in order; if all are in a cycle, the last node."""
    inner = set(parents.values())
    leaves = [node for node in parents if node not in inner]
    return leaves or list(parents)[-1:]


def find_latest_leaf(parents: Mapping[str, str | None], times: Mapping[str, float]) -> str | None:
    """Return the leaf whose path holds the greatest time; of equal ones, the last."""
    # The greatest time on the way from the root to each node. Every node is visited once, however
    # many leaves share it; walking each leaf's path to the root would take quadratic time.
    latest: dict[str, float] = {}
    leaves = find_leaves(parents)
    for leaf in leaves:
        path: list[str] = []
        node: str | None = leaf
        while node is not None and node in parents and node not in latest:
            latest[node] = times[node]
            path.append(node)
            node = parents[node]
        best = latest.get(node, 0.0) if node is not None else 0.0
        for step in reversed(path):
            best = latest[step] = max(best, times[step])
    return max(reversed(leaves), key=lambda leaf: latest[leaf], default=None)


def find_other_branches(
    main: Sequence[str], parents: Mapping[str, str | None], user_nodes: Iterable[str]
) -> list[tuple[str, list[str]]]:
    """Return each abandoned branch as (leaf, path), from the question that it answers."""
    questions = set(user_nodes)
    visited = set(main)
    branches: list[tuple[str, list[str]]] = []
    for leaf in find_leaves(parents):
        path = path_to_root(leaf, parents)
        fork = next((i for i, node in enumerate(path) if node not in visited), len(path))
        if fork == len(path):
            continue
        visited.update(path)
        # A regenerated answer forks off behind its question, which belongs to both branches.
        while fork > 0 and path[fork] not in questions:
            fork -= 1
        branches.append((leaf, path[fork:]))
    return branches


def find_current_branch(ids: Sequence[str | None], parents: Sequence[str | None]) -> set[int]:
    """Return the positions of the lines that are on the path to the last line."""
    positions = {line_id: i for i, line_id in enumerate(ids) if line_id is not None}
    current: set[int] = set()
    start = len(ids) - 1
    while start >= 0:
        lowest = start
        line: int | None = start
        while line is not None and line not in current:
            current.add(line)
            lowest = min(lowest, line)
            parent = parents[line]
            line = positions.get(parent) if parent is not None else None
        # The chain breaks where a parent was never written, at a compaction, and at lines without
        # ids. The walk goes on at the line before the break, in file order, so that only a branch
        # that the log itself shows as abandoned is left out.
        start = lowest - 1
    # The same line may be written twice (claude-code#40363: 4,205 ids doubled in one session).
    current_ids = {ids[line] for line in current} - {None}
    return current | {line for line, line_id in enumerate(ids) if line_id in current_ids}
