"""Picture of an entity's neighbourhood; the only module that imports networkx."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsense.errors import ConfigurationError, InvalidInputError

if TYPE_CHECKING:
    from memsense.graph.resource import EntityView

ENDINGS = (".svg", ".png")
SIZE, DPI = (9.0, 7.0), 150
CENTRE, AROUND, LINE = "#d95f02", "#7fb3d5", "#8c8c8c"
SMALLEST_NODE, LARGEST_NODE = 250.0, 1800.0
THINNEST, THICKEST = 0.6, 5.0
LONGEST_LABEL = 24


def check_picture(path: Path) -> None:
    """Raise InvalidInputError for an unknown ending, ConfigurationError if a library is missing."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInputError(f"a picture ends in .svg or .png, not {path.name!r}")
    _import_libraries()


def _import_libraries() -> tuple[Any, Any]:  # their own types are only partly known
    try:
        return import_module("networkx"), import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise ConfigurationError(
            "a picture needs networkx and matplotlib: pip install 'memsense[pictures]'"
        ) from error


def draw_neighbourhood(path: Path, view: "EntityView") -> None:
    """Write an SVG or PNG of the entity, its neighbours and the edges among all of them.

    A line is the thicker, the more chunks mention both ends; a circle is the larger, the more
    chunks mention it together with the entity. Raises as `check_picture` does, and
    InvalidInputError for a file that can't be written.
    """
    check_picture(path)
    networkx, make_figure = _import_libraries()
    graph = networkx.Graph()
    graph.add_node(view.entity.entity_id, label=_label(view.entity.name))
    for near in view.neighbours:
        graph.add_node(near.entity_id, label=_label(near.name))
    graph.add_weighted_edges_from(view.edges)
    figure = make_figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_title(f"{view.entity.name}: what is mentioned with it")
    axes.margins(0.12)
    _draw(networkx, graph, axes, view)
    try:
        figure.savefig(path, format=path.suffix.lower().removeprefix("."), dpi=DPI)
    except OSError as error:
        raise InvalidInputError(f"{path} can't be written: {error}") from error


def _label(name: str) -> str:
    # A dollar sign would begin a formula of matplotlib's.
    label = name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
    return label.replace("$", r"\$")


def _draw(networkx: Any, graph: Any, axes: Any, view: "EntityView") -> None:
    centre = view.entity.entity_id
    # A fixed seed: the same memory gives the same picture.
    places = networkx.spring_layout(graph, seed=0, weight=None, k=0.9, iterations=200)
    weights = [weight for _, _, weight in graph.edges(data="weight")]
    closeness = {near.entity_id: near.weight for near in view.neighbours}
    largest = max(closeness.values(), default=1)
    sizes = [
        LARGEST_NODE
        if node == centre
        else SMALLEST_NODE + (LARGEST_NODE - SMALLEST_NODE) * closeness[node] / largest / 2
        for node in graph
    ]
    colours = [CENTRE if node == centre else AROUND for node in graph]
    widths = [THINNEST + (THICKEST - THINNEST) * weight / max(weights) for weight in weights]
    networkx.draw_networkx_edges(graph, places, ax=axes, width=widths, edge_color=LINE, alpha=0.6)
    networkx.draw_networkx_nodes(graph, places, ax=axes, node_size=sizes, node_color=colours)
    labels = dict(graph.nodes(data="label"))
    networkx.draw_networkx_labels(graph, places, labels, ax=axes, font_size=8)
