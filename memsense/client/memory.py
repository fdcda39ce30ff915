"""MemSense: the one class that users of the Python API need."""

from memsense.client.curator import Curator
from memsense.client.entities import EntityReader
from memsense.client.explainer import Explainer
from memsense.client.projects import ProjectKeeper
from memsense.client.reader import Reader
from memsense.client.settings import Tuner
from memsense.client.writer import Writer


class MemSense(Writer, Explainer, Reader, Curator, Tuner, ProjectKeeper, EntityReader):
    """An agent's memory in PostgreSQL.

        with MemSense.open() as memory:
            memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                       user_id="ada", session_id="monday")
            hits = memory.search("Where does Ada live?", user_id="ada")

    Safe to share between threads. Everything happens within one tenant and one namespace.
    """
