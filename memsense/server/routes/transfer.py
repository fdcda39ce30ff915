"""Routes of exports, imports and uploaded logs: at once, or as resources with addresses."""

from datetime import tzinfo
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from memsense.client.memory import MemSense
from memsense.client.verbs import Memory
from memsense.declaration import parameters_of, read_arguments
from memsense.draft.drafting import Annotations
from memsense.ingest import DateOrder, ReadOptions
from memsense.inputs import Check, Id, Name, require_user
from memsense.server.answers import answer_of, list_of
from memsense.server.callers import Caller, Reader, Writer, require, state_of
from memsense.server.operations import IdempotencyKey, UserId
from memsense.server.problems import ProblemError, problem_responses
from memsense.server.requests import body_of
from memsense.server.state import MOST_EXPORTS
from memsense.server.transfers import LINES, ExportResponse, Owner, Transfer, Transfers, open_upload
from memsense.store.access import KeyScope
from memsense.timezones import find_zone
from memsense.types import EmbedWhen, IngestMode

router = APIRouter(prefix="/v1", tags=["transfer"])

_EXPORT = parameters_of(Memory.export_to)
_IMPORT = parameters_of(MemSense.import_from)

_LINES_OF_JSON: Any = {"content": {LINES: {"schema": {"type": "string"}}}}


class ExportBody(body_of(Memory.export_to, without=("path",))):
    """The memory to export."""


class TransferState(
    answer_of(
        Transfer, *("transfer_id", "status", "created_at", "ended_at", "bytes", "report", "error")
    )
):
    """State of an export or import: "running", "done" or "failed", and what it has done."""

    holds_memory = False


TransferList = list_of(
    TransferState,
    "transfers",
    "TransferList",
    "Exports or imports of this key's, the latest first.",
)
TransferId = Annotated[UUID, PathParameter(description="Id of the export or import.")]


def _transfers(request: Request) -> Transfers:
    return state_of(request).transfers


def _owner(caller: Caller) -> Owner:
    return Owner(caller.tenant, caller.namespace, caller.user_id)


def _respond(item: Transfer, status: int = 200) -> JSONResponse:
    headers = {"Location": f"/v1/{item.kind}s/{item.transfer_id}"} if status == CREATED else {}
    content = TransferState.model_validate(item).model_dump(mode="json")
    return JSONResponse(content, status_code=status, headers=headers)


CREATED = 201


def _add_routes(kind: Literal["export", "import"], scope: KeyScope) -> None:
    """Add the routes that both kinds have: their list, and one's state and deletion."""
    path = f"/{kind}s/{{transfer_id}}"

    async def find_owner(caller: Annotated[Caller, Depends(require(scope))]) -> Owner:
        if kind == "import":
            caller.whole()
        return _owner(caller)

    async def find(
        transfer_id: TransferId, request: Request, owner: Annotated[Owner, Depends(find_owner)]
    ) -> Transfer:
        return _transfers(request).find(kind, transfer_id, owner)

    @router.get(
        f"/{kind}s",
        name=f"{kind}s_list",
        response_model=TransferList,
        responses=problem_responses(),
        description=f"List the {kind}s of this key's tenant or user, the latest first.",
    )
    async def list_all(request: Request, owner: Annotated[Owner, Depends(find_owner)]) -> Response:
        items = _transfers(request).list(kind, owner)
        states = [TransferState.model_validate(item).model_dump(mode="json") for item in items]
        return JSONResponse({"transfers": states})

    @router.get(
        path,
        name=f"{kind}s_get",
        response_model=TransferState,
        responses=problem_responses(404),
        description=f"Return the state of an {kind}, and what it has done so far.",
    )
    async def get(item: Annotated[Transfer, Depends(find)]) -> Response:
        return _respond(item)

    @router.delete(
        path,
        name=f"{kind}s_delete",
        status_code=204,
        responses=problem_responses(404),
        description=f"Delete an {kind}; its work ends. What an import has stored stays.",
    )
    async def delete(request: Request, item: Annotated[Transfer, Depends(find)]) -> None:
        _transfers(request).delete(item)


# Exports -----------------------------------------------------------------------------------------


@router.get(
    "/export",
    name="export",
    response_class=Response,
    responses={**problem_responses(), 200: {**_LINES_OF_JSON, "description": "JSON lines"}},
)
async def export(
    request: Request,
    caller: Reader,
    *,
    user_id: UserId = None,
    all_users: Annotated[bool, Query(description=_EXPORT["all_users"].text)] = False,
    vectors: Annotated[bool, Query(description=_EXPORT["vectors"].text)] = False,
) -> Response:
    """Return a user's memory, or everybody's, as JSON lines that an import reads.

    The lines are sent while they are read, at one moment of the memory.
    """
    whose = _check_whose(caller, user_id, all_users=all_users)
    slots = state_of(request).export_slots
    if slots.available_tokens < 1:
        # Each holds a thread and a connection for as long as its client reads.
        busy = f"{MOST_EXPORTS} exports are being sent: try again, or POST /v1/exports"
        raise ProblemError(503, busy, {"Retry-After": "5"})

    async def write(file: Any) -> None:
        async with slots:
            await caller.memory.export_to(file, **whose, vectors=vectors)

    return ExportResponse(write)


def _check_whose(caller: Caller, user_id: str | None, *, all_users: bool) -> dict[str, Any]:
    whose = caller.whose(user_id, all_users=all_users)
    if caller.user_id is None:
        require_user(user_id, all_users)
    return whose


@router.post(
    "/exports",
    name="exports_create",
    status_code=CREATED,
    response_model=TransferState,
    responses=problem_responses(409),
)
async def create_export(
    request: Request,
    caller: Reader,
    *,
    body: ExportBody | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Begin an export in the background, whose lines can be fetched in parts once it is done."""
    transfers = _transfers(request)
    owner = _owner(caller)
    if (earlier := transfers.find_repeated("export", owner, idempotency_key)) is not None:
        return _respond(earlier, CREATED)
    arguments = (body or ExportBody()).arguments()
    whose = _check_whose(caller, arguments["user_id"], all_users=arguments["all_users"])
    item = transfers.begin("export", owner, idempotency_key)
    memory = caller.blocking
    transfers.run_export(
        item, lambda file: memory.export_to(file, **whose, vectors=arguments["vectors"])
    )
    return _respond(item, CREATED)


@router.get(
    "/exports/{transfer_id}/lines",
    name="exports_lines",
    response_class=FileResponse,
    responses={
        **problem_responses(404, 409, 416),
        200: {**_LINES_OF_JSON, "description": "JSON lines"},
        206: {**_LINES_OF_JSON, "description": "The part that the header Range names"},
    },
)
async def get_export_lines(transfer_id: TransferId, request: Request, caller: Reader) -> Response:
    """Return the lines of an export; with the header Range, a part of them."""
    item = _transfers(request).find("export", transfer_id, _owner(caller))
    if item.status != "done":
        why = item.error or "it is still being written"
        raise ProblemError(409, f"the export is {item.status}: {why}", {"Retry-After": "1"})
    path = _transfers(request).path(transfer_id)
    return FileResponse(path, media_type=LINES, filename="memory.jsonl")


# Imports -----------------------------------------------------------------------------------------


@router.post(
    "/imports",
    name="imports_create",
    status_code=CREATED,
    response_model=TransferState,
    responses=problem_responses(409, 415),
    openapi_extra={"requestBody": {**_LINES_OF_JSON, "required": True}},
)
async def create_import(
    request: Request,
    caller: Writer,
    *,
    settings: Annotated[bool | None, Query(description=_IMPORT["settings"].text)] = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Store the lines of an export, session by session, in the background.

    An import that was interrupted is completed by sending it again: what is stored stays.
    """
    caller.whole()
    memory = caller.blocking
    assert isinstance(memory, MemSense)  # `whole` has refused keys of one user
    content_type = request.headers.get("content-type", "").partition(";")[0].strip()
    if content_type not in {LINES, "application/jsonl"}:
        raise ProblemError(415, f"send the lines with the header 'Content-Type: {LINES}'")
    if not caller.may("admin"):
        if settings:
            raise ProblemError(
                403, "settings=true needs the scope admin: settings apply to the whole namespace"
            )
        settings = False
    transfers = _transfers(request)
    owner = _owner(caller)
    if (earlier := transfers.find_repeated("import", owner, idempotency_key)) is not None:
        return _respond(earlier, CREATED)
    item = transfers.begin("import", owner, idempotency_key)
    _, body = await open_upload(request, state_of(request).options.largest_import)
    await transfers.store(item, body)
    transfers.run_import(
        item, lambda path, note: memory.import_from(path, settings=settings, on_session=note)
    )
    return _respond(item, CREATED)


_add_routes("export", "read")
_add_routes("import", "write")


# Logs --------------------------------------------------------------------------------------------


class IngestAnswer(BaseModel):
    """Report of an uploaded log, as `memsense ingest --output json` prints it."""

    model_config = ConfigDict(extra="allow")

    exchanges: int = Field(description="Exchanges read: the sum of the next four.")
    stored: int = Field(description="New exchanges.")
    replaced: int = Field(description="Exchanges that replaced one whose log was edited.")
    repeated: int = Field(description="Exchanges that were stored already.")
    refused: int = Field(description="Exchanges of sessions that could not be stored.")
    users: list[str] = Field(description="Users whose memory was written to.")
    skipped: dict[str, int] = Field(description="Records that were left out, by reason.")
    warnings: list[str]
    failed: list[str] = Field(description="Logs and sessions that failed, with their reasons.")
    nothing_because: str | None = Field(description="Why nothing is stored.")
    dry_run: bool


_ANY_FILE: Any = {"type": "string", "format": "binary"}
_UPLOAD: Any = {
    "application/octet-stream": {"schema": _ANY_FILE},
    "multipart/form-data": {
        "schema": {"type": "object", "properties": {"file": _ANY_FILE}, "required": ["file"]}
    },
}
_INGEST = parameters_of(Memory.ingest)
_ADD = parameters_of(Memory.add)
_READING = read_arguments(ReadOptions.__doc__ or "")
LONGEST_FILE_NAME = 255


@router.post(
    "/ingest",
    name="ingest",
    response_model=IngestAnswer,
    responses=problem_responses(),
    openapi_extra={"requestBody": {"content": _UPLOAD, "required": True}},
)
async def ingest(
    request: Request,
    caller: Writer,
    *,
    name: Annotated[
        Name | None,
        Query(
            description="Name of the file, by which a log without ids of its own is recognised when"
            " it is sent again; default: that of the form's file.",
            examples=["exports/chat.txt"],
        ),
    ] = None,
    log_format: Annotated[
        Name | None,
        Query(
            alias="format",
            pattern=r"^[^/.]+$",  # a path would be read from the server's disk
            description="Format of the log, as `memsense formats` lists them; default: detected.",
        ),
    ] = None,
    user_id: UserId = None,
    user_speaker: Annotated[Name | None, Query(description=_READING["user_speaker"])] = None,
    timezone: Annotated[
        Annotated[tzinfo, Check(find_zone, {"type": "string"}, is_whole=True)] | None,
        Query(description=_READING["timezone"]),
    ] = None,
    date_order: Annotated[DateOrder | None, Query(description=_READING["date_order"])] = None,
    mode: Annotated[IngestMode, Query(description=_INGEST["mode"].text)] = "turn",
    agent_id: Annotated[Id | None, Query(description=_ADD["agent_id"].text)] = None,
    project: Annotated[Name | None, Query(description=_ADD["project"].text)] = None,
    tags: Annotated[list[Name] | None, Query(description=_ADD["tags"].text)] = None,
    embed: Annotated[EmbedWhen | None, Query(description=_INGEST["embed"].text)] = None,
    new_session: Annotated[bool, Query(description=_INGEST["new_session"].text)] = False,
    dry_run: Annotated[bool, Query(description=_INGEST["dry_run"].text)] = False,
) -> Response:
    """Read an uploaded conversation log of any known format into memory, each exchange once.

    The file is the body, or the one file of a form. Sending a log again stores what is new in it.
    """
    annotations = Annotations(agent_id=agent_id, project=project, tags=tags or ())
    whose = caller.whose(user_id)
    transfers, largest = _transfers(request), state_of(request).options.largest_import
    item = transfers.begin("ingest", _owner(caller), None)
    try:
        file_name, body = await open_upload(request, largest)
        parts = (name or file_name).split("/")
        if any(it in {"", ".", ".."} or len(it.encode()) > LONGEST_FILE_NAME for it in parts):
            raise ProblemError(
                422, "name must be the name of the file, such as ?name=chat.txt or exports/chat.txt"
            )
        await transfers.store(item, body)
        uploaded = transfers.path(item.transfer_id)

        def read() -> Response:
            with TemporaryDirectory(dir=uploaded.parent) as root:
                # The folder is a part of the session's name, as that of any file.
                path = Path(root, *(parts if len(parts) > 1 else ("upload", *parts)))
                path.parent.mkdir(parents=True)
                uploaded.rename(path)
                options = ReadOptions(
                    format=log_format, user_speaker=user_speaker, timezone=timezone,
                    date_order=date_order, uploads=root,
                )  # fmt: skip
                report = caller.blocking.ingest(
                    path, options=options, annotations=annotations, mode=mode, embed=embed,
                    new_session=new_session, dry_run=dry_run, **whose,
                ).as_dict()  # fmt: skip
            if not caller.may("read"):
                report["continued"] = []
            return JSONResponse(report)

        return await state_of(request).threads.run(read)
    finally:
        transfers.delete(item)
