"""Counts of the source: how long, how deep, how plainly written, how entangled.

    python tools/house.py                  the package memsense
    python tools/house.py memsense/search  some folders or files of it
    python tools/house.py --list           and every name behind the counts, with file and line
    python tools/house.py --json           as JSON
    python tools/house.py warm             files that one warm search enters

How each is counted:

- lines, files: of *.py files. Lines of code are those that are neither blank, nor only a comment,
  nor a string that is a statement (a docstring).
- functions: every `def` but the stubs of `@overload`. Their length goes from `def` to the last
  line, without the docstring.
- private functions with one caller: functions named `_x` whose name is read exactly once in their
  file. A callback counts as read where it is passed, so it counts too; a recursive function
  does not. The share is of all functions.
- comments: lines that are a comment or end in one, per 100 lines of code. Directives for tools
  (noqa, pyright, type: ignore) and rulers (`# Set-up -----`) are no comments.
- noun clauses: docstrings of modules, classes and functions that open with "What", "Whether",
  "How" and the like, or "As `x`", of all docstrings.
- openings: docstrings of functions that open with no imperative verb, of all docstrings of
  functions: noun clauses, and "The ...", "A ...", "Every ...", "Sessions ...", "Stored ...",
  "Returns ...". Properties may open with "The".
- participles: variables named by a bare participle ("found", "told"), of all distinct pairs of a
  function or a class and a name that it assigns, takes or declares.
- public parameters: those of the public methods of PUBLIC_CLASSES, and of the constructors that
  users call. One is documented if it has a line of its own under "Args:".
- circles: groups of files that import each other, directly or through others. Imports within a
  function and under TYPE_CHECKING count: a reader has to follow them, too.
"""

import argparse
import ast
import io
import json
import os
import re
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]

QUESTION = "What did I say about the deadline?"
"""The question of the warm search."""

PUBLIC_CLASSES = frozenset(
    """
    MemSense UserMemory
    AccessKeysResource Entities ErasuresResource HistoriesResource IndexesResource ItemsResource
    JobsResource ModelsResource ProfilesResource ProjectsResource SettingsResource TracesResource
    TtlResource UserEntities UserProjects UserTraces
    SearchResult Hit Explanation Profile
    Embedder TokenEmbedder OnnxEmbedder OpenAIEmbedder Reranker HttpReranker CrossEncoder
    EntityExtractor FacetTagger LLMTagger RuleExtractor RuleTagger
    AsyncMemSenseStore MemSenseChatHistory MemSenseMemoryService MemSenseRetriever MemSenseSession
    MemSenseStore MemSenseToolset
    """.split()
)
"""Classes that a user imports, or reaches from MemSense."""

CONSTRUCTED = frozenset(
    """
    OnnxEmbedder OpenAIEmbedder HttpReranker CrossEncoder LLMTagger RuleExtractor RuleTagger
    AsyncMemSenseStore MemSenseChatHistory MemSenseMemoryService MemSenseSession MemSenseStore
    MemSenseToolset
    """.split()
)
"""Classes among them whose constructor users call."""

PARTICIPLES = frozenset(
    """
    asked begun bound bought broken brought built caught chosen come done drawn driven fallen fed
    felt found forgotten given gone grown heard held hidden joined kept known laid led left lent
    let lost made meant met named packed paid placed put said seen sent shown shut sold sought
    spent spoken spread stood stored struck sung sworn taken taught thought thrown told torn tried
    understood used wanted woken won worded worn written
    """.split()
)
"""Participles that say nothing of what a variable holds."""

NOUN_CLAUSE = re.compile(
    r"(?:What|Whatever|Whether|How|Those|Where|Wherever|Who|Whoever|Whom|Whose|Why|That|Which"
    r"|Whichever|When|Whenever)\b|As `"
)

NO_VERB = frozenset(
    """
    a about after all an and another any anything as at before beside both by each either every
    everybody everyone everything false few for from half here his if in instead its it just many
    meanwhile most much neither no nobody none nothing of on one only or other others our several
    since so some somebody something such the their them then there these they this to true two
    three under until up upon we with within without you your
    """.split()
)
"""Words that open a docstring with something else than a verb."""

VERBS = frozenset(
    """
    access address bless compress cross discuss dismiss express focus guess miss pass press process
    suppress bypass embed exceed feed heed need proceed read seed shed speed succeed
    """.split()
)
"""Verbs that end in -s or -ed."""

_DIRECTIVE = re.compile(r"#\s*(?:noqa|pyright:|type:\s*ignore|ruff:|fmt:|pragma|cspell)")
_RULER = re.compile(r"-{4,}\s*$")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """Something that a count found, and where."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(slots=True, kw_only=True)
class House:
    """Counts of some files. `lists` has the places behind those that are to go down."""

    files: int = 0
    lines: int = 0
    code_lines: int = 0
    comments: int = 0
    function_lengths: list[int] = field(default_factory=list[int])
    docstrings: int = 0
    function_docstrings: int = 0
    names: int = 0
    public_parameters: int = 0
    circles: list[list[str]] = field(default_factory=list[list[str]])
    lists: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])

    def note(self, count: str, path: str, line: int, text: str) -> None:
        """Add a place to the list of a count."""
        self.lists.setdefault(count, []).append(Place(path=path, line=line, text=text))

    def figures(self) -> dict[str, float | int]:
        """Return every count and share by its name, as `--json` prints them."""
        functions = len(self.function_lengths)
        parameters = self.public_parameters

        def share(count: str, whole: int) -> float:
            return round(100 * len(self.lists.get(count, ())) / max(whole, 1), 1)

        return {
            "files": self.files,
            "lines": self.lines,
            "code_lines": self.code_lines,
            "functions": functions,
            "median_function_lines": statistics.median(self.function_lengths or [0]),
            "one_caller": len(self.lists.get("one_caller", ())),
            "one_caller_percent": share("one_caller", functions),
            "comments": self.comments,
            "comments_per_100_lines": round(100 * self.comments / max(self.code_lines, 1), 1),
            "docstrings": self.docstrings,
            "noun_clauses": len(self.lists.get("noun_clauses", ())),
            "noun_clauses_percent": share("noun_clauses", self.docstrings),
            "function_docstrings": self.function_docstrings,
            "openings": len(self.lists.get("openings", ())),
            "openings_percent": share("openings", self.function_docstrings),
            "names": self.names,
            "participles": len(self.lists.get("participles", ())),
            "participles_percent": share("participles", self.names),
            "public_parameters": parameters,
            "documented_parameters": parameters - len(self.lists.get("parameters", ())),
            "circles": len(self.circles),
        }


def python_files(paths: Sequence[Path]) -> list[Path]:
    """Return the Python files of files and folders, sorted."""
    files: set[Path] = set()
    for path in paths:
        if path.is_dir():
            files.update(path.rglob("*.py"))
        elif path.suffix == ".py":
            files.add(path)
        else:
            raise FileNotFoundError(f"{path} is neither a folder nor a Python file")
    return sorted(files)


@cache
def parse(file: Path) -> ast.Module:
    """Parse a file, once however often it is asked for."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def count_house(paths: Sequence[Path], root: Path = ROOT) -> House:
    """Count the files of `paths`. Their names are relative to `root` where they lie in it."""
    house = House()
    files = python_files(paths)
    for file in files:
        source, tree = file.read_text(encoding="utf-8"), parse(file)
        path = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
        house.files += 1
        house.lines += len(source.splitlines())
        count_lines(house, source, tree)
        count_functions(house, path, tree)
        count_docstrings(house, path, tree)
        count_names(house, path, tree)
        count_parameters(house, path, tree)
    house.circles = import_circles(files)
    for places in house.lists.values():
        places.sort()
    return house


def opening_fault(docstring: str, *, is_property: bool = False) -> str | None:
    """Return the words that open a function's docstring if they are no imperative, else None."""
    clause = NOUN_CLAUSE.match(docstring)
    if clause:
        return clause[0].rstrip(" `")
    words = docstring.split(maxsplit=1)
    if is_property or not words:
        return None
    word = words[0].strip("`*'\".,:;()")
    plain = word.lower()
    if plain in VERBS:
        return None
    # Plurals ("Sessions"), third persons ("Returns"), participles ("Stored"), numbers, names.
    is_verb = plain.isalpha() and not words[0].startswith("`")
    if plain in NO_VERB or plain.endswith("ed") or re.search(r"[^s]s$", plain) or not is_verb:
        return word
    return None


def docstrings_of(tree: ast.Module) -> Iterator[tuple[ast.Module | Scope, str, int]]:
    """Yield each module, class and function that has a docstring, with it and its line."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)):
            docstring = ast.get_docstring(node)
            if docstring:
                yield node, docstring, node.body[0].lineno


def is_property(node: ast.AST) -> bool:
    """Return whether a function is a property, cached or not, or its setter."""
    return isinstance(node, _FUNCTIONS) and any(
        re.search(r"property$|\.setter$", ast.unparse(decorator))
        for decorator in node.decorator_list
    )


def import_circles(files: Sequence[Path]) -> list[list[str]]:
    """Return the groups of modules among `files` that import each other, largest first."""
    modules = {module_name(file): file for file in files}
    imports = {name: imports_of(name, file, modules.keys()) for name, file in modules.items()}
    reachable = {name: modules_reached(name, imports) for name in imports}
    circles = {
        frozenset(other for other in reachable[name] if name in reachable[other])
        for name in imports
        if name in reachable[name]
    }
    return sorted((sorted(circle) for circle in circles), key=lambda circle: (-len(circle), circle))


def count_lines(house: House, source: str, tree: ast.Module) -> None:
    """Add the lines of code and the comments of a file."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr)):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    blank = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if not (_DIRECTIVE.match(token.string) or _RULER.search(token.string)):
                house.comments += 1
        elif token.type not in blank:
            code.update(range(token.start[0], token.end[0] + 1))
    house.code_lines += len(code - prose)


def count_functions(house: House, path: str, tree: ast.Module) -> None:
    """Add the functions of a file and note the private ones with one caller."""
    reads = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, (ast.Name, ast.Attribute))
    )
    for node in ast.walk(tree):
        if not isinstance(node, _FUNCTIONS):
            continue
        if any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list):
            continue
        house.function_lengths.append(function_lines(node))
        is_private = node.name.startswith("_") and not node.name.startswith("__")
        if is_private and reads[node.name] == 1:
            house.note("one_caller", path, node.lineno, node.name)


def function_lines(node: Function) -> int:
    """Return the length of a function in lines, without its docstring."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def count_docstrings(house: House, path: str, tree: ast.Module) -> None:
    """Add the docstrings of a file and note the openings to mend."""
    for node, docstring, line in docstrings_of(tree):
        first_line = docstring.splitlines()[0]
        house.docstrings += 1
        if NOUN_CLAUSE.match(docstring):
            house.note("noun_clauses", path, line, first_line)
        if isinstance(node, _FUNCTIONS):
            house.function_docstrings += 1
            if opening_fault(docstring, is_property=is_property(node)):
                house.note("openings", path, line, f"{node.name}: {first_line}")


def count_names(house: House, path: str, tree: ast.Module) -> None:
    """Add the variables of a file and note those named by a bare participle."""
    for scope in ast.walk(tree):
        if not isinstance(scope, (ast.ClassDef, *_FUNCTIONS)):
            continue
        lines: dict[str, int] = {}
        for name, line in names_of(scope):
            lines.setdefault(name, line)
        house.names += len(lines)
        for name, line in lines.items():
            if name.strip("_") in PARTICIPLES:
                house.note("participles", path, line, f"{name} in {scope.name}")


def names_of(scope: ast.Module | Scope) -> Iterator[tuple[str, int]]:
    """Yield each name that a scope assigns, takes or declares, with its line."""
    if isinstance(scope, _FUNCTIONS):
        for argument in parameters_of(scope):
            yield argument.arg, argument.lineno
    nodes: list[ast.AST] = list(scope.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            continue  # its names are counted in its own scope
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        nodes.extend(ast.iter_child_nodes(node))


def parameters_of(function: Function) -> list[ast.arg]:
    """Return the parameters of a function without `self` and `cls`."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    rest = [argument for argument in (spec.vararg, spec.kwarg) if argument is not None]
    return [argument for argument in (*named, *rest) if argument.arg not in {"self", "cls"}]


def count_parameters(house: House, path: str, tree: ast.Module) -> None:
    """Add the public parameters of a file and note those without a line of their own."""
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef) or owner.name not in PUBLIC_CLASSES:
            continue
        for node in owner.body:
            if not isinstance(node, _FUNCTIONS):
                continue
            is_constructor = node.name == "__init__" and owner.name in CONSTRUCTED
            if node.name.startswith("_") and not is_constructor:
                continue
            # An overload has no docstring: the one of the implementation is what help() shows.
            if any(ast.unparse(item).endswith("overload") for item in node.decorator_list):
                continue
            texts = [ast.get_docstring(node) or ""]
            if is_constructor:
                texts.append(ast.get_docstring(owner) or "")
            documented = {name for text in texts for name in documented_parameters(text)}
            for argument in parameters_of(node):
                house.public_parameters += 1
                if argument.arg not in documented:
                    where = f"{owner.name}.{node.name}({argument.arg})"
                    house.note("parameters", path, argument.lineno, where)


def documented_parameters(docstring: str) -> list[str]:
    """Return the names that have a line of their own under "Args:"."""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", docstring, re.MULTILINE)
    if section is None:
        return []
    indents = re.findall(r"^([ \t]+)\S", section[1], re.MULTILINE)
    indent = min(indents, key=len, default="")
    return re.findall(rf"^{indent}\*{{0,2}}(\w+)(?: \(.*?\))?:", section[1], re.MULTILINE)


def module_name(file: Path) -> str:
    """Return the dotted name of a file, from the outermost folder that is a package."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.resolve().parent
    while (folder / "__init__.py").exists():
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts))


def imports_of(name: str, file: Path, modules: Collection[str]) -> set[str]:
    """Return the modules among `modules` that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package import x`: x is a module of its own, or a name in the package's file.
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                names.add(module if module in modules else node.module)
    return (names & set(modules)) - {name}


def modules_reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that are imported from a module on, directly or through others."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        for name in imports[ahead.pop()] - reached:
            reached.add(name)
            ahead.append(name)
    return reached


# A warm search --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmSearch:
    """Files that one search entered once everything was loaded, and moves between them."""

    files: list[str]
    moves: int
    calls: int


def count_warm_search(question: str = QUESTION) -> WarmSearch:
    """Search the bundled sample in a temporary store, and count one search after two others.

    A call is a Python function of the package that is entered; a move is one whose caller, the
    nearest of the package, is in another file.
    """
    from memsense import MemSense

    package = str(ROOT / "memsense") + "/"
    files: set[str] = set()
    moves = calls = 0

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal moves, calls
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(package):
            return
        files.add(path.removeprefix(package))
        calls += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(package):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != path:
            moves += 1

    with TemporaryDirectory() as folder:
        os.environ["MEMSENSE_DATA_DIR"] = folder
        with MemSense.open() as memory:
            memory.ingest(ROOT / "memsense/data/sample_conversation.jsonl", user_id="ada")
            # The first searches load the model and count the terms.
            for _ in range(2):
                memory.search(question, user_id="ada")
            sys.setprofile(watch)
            try:
                memory.search(question, user_id="ada")
            finally:
                sys.setprofile(None)
    return WarmSearch(files=sorted(files), moves=moves, calls=calls)


# The command line -----------------------------------------------------------------------------


def format_table(figures: Mapping[str, float | int]) -> str:
    """Format the counts as a table of two columns."""
    rows = [
        ("lines / files", "{lines:,} / {files:,}"),
        ("lines of code", "{code_lines:,}"),
        ("functions / median lines", "{functions:,} / {median_function_lines:g}"),
        ("private functions with one caller", "{one_caller:,} ({one_caller_percent}%)"),
        ("comments per 100 lines of code", "{comments_per_100_lines} ({comments:,})"),
        (
            "public parameters with a line of their own",
            "{documented_parameters:,} of {public_parameters:,}",
        ),
        ("docstrings that open with a noun clause", "{noun_clauses:,} ({noun_clauses_percent}%)"),
        ("function docstrings that open with no verb", "{openings:,} ({openings_percent}%)"),
        ("variables named by a participle", "{participles:,} ({participles_percent}%)"),
        ("circles of files", "{circles}"),
    ]
    return "\n".join(f"{label:<44}{text.format(**figures)}" for label, text in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts of the package, of some paths, or of one warm search."""
    parser = argparse.ArgumentParser(
        description="Count the source, or the files of a search.",
        epilog="`house.py warm` counts the files that one warm search enters.",
    )
    parser.add_argument("paths", nargs="*", type=Path, help="folders or files (default: memsense)")
    parser.add_argument("--list", action="store_true", help="print what was counted, with its line")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.paths == [Path("warm")]:
        search = count_warm_search()
        if options.json:
            print(json.dumps(asdict(search)))
            return 0
        if options.list:
            print(*search.files, sep="\n")
        print(f"{len(search.files)} files, {search.moves} moves, {search.calls} calls")
        return 0
    house = count_house([path.resolve() for path in options.paths or [ROOT / "memsense"]])
    if options.json:
        lists = {name: [asdict(place) for place in places] for name, places in house.lists.items()}
        print(json.dumps({**house.figures(), "circles": house.circles, "lists": lists}))
        return 0
    if options.list:
        for name, places in house.lists.items():
            print(f"# {name}", *places, "", sep="\n")
    print(format_table(house.figures()))
    for circle in house.circles:
        print("  " + " <-> ".join(circle))
    return 0


if __name__ == "__main__":
    sys.exit(main())
