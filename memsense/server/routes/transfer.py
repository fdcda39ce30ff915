"""Routes of exports and imports: streamed at once, or as resources with addresses."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, JSONResponse

from memsense.client.memory import MemSense
from memsense.client.verbs import Memory
from memsense.declaration import parameters_of
from memsense.inputs import require_user
from memsense.server.answers import answer_of, list_of
from memsense.server.callers import Caller, Reader, Writer, state_of
from memsense.server.operations import IdempotencyKey, UserId
from memsense.server.problems import ProblemError, problem_responses
from memsense.server.requests import body_of
from memsense.server.state import MOST_EXPORTS
from memsense.server.transfers import LINES, ExportResponse, Kind, Transfer, Transfers

router = APIRouter(prefix="/v1", tags=["transfer"])

_EXPORT = parameters_of(Memory.export_to)
_IMPORT = parameters_of(MemSense.import_from)

_LINES_OF_JSON: Any = {"content": {LINES: {"schema": {"type": "string"}}}}


class ExportBody(body_of(Memory.export_to, without=("path",))):
    """The memory to export."""


class TransferState(
    answer_of(
        Transfer,
        *("transfer_id", "status", "created_at", "ended_at", "bytes", "report", "error"),
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


def _find(request: Request, kind: Kind, transfer_id: UUID, caller: Caller) -> Transfer:
    return _transfers(request).find(kind, transfer_id, caller.tenant, caller.user_id)


def _respond(item: Transfer, status: int = 200) -> JSONResponse:
    headers = {"Location": f"/v1/{item.kind}s/{item.transfer_id}"} if status == CREATED else {}
    content = TransferState.model_validate(item).model_dump(mode="json")
    return JSONResponse(content, status_code=status, headers=headers)


CREATED = 201


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
    owner = caller.tenant, caller.user_id
    if (earlier := transfers.find_repeated("export", *owner, idempotency_key)) is not None:
        return _respond(earlier, CREATED)
    arguments = (body or ExportBody()).arguments()
    whose = _check_whose(caller, arguments["user_id"], all_users=arguments["all_users"])
    item = transfers.begin("export", *owner, idempotency_key)
    memory = caller.blocking
    transfers.run_export(
        item, lambda file: memory.export_to(file, **whose, vectors=arguments["vectors"])
    )
    return _respond(item, CREATED)


@router.get(
    "/exports",
    name="exports_list",
    response_model=TransferList,
    responses=problem_responses(),
)
async def list_exports(request: Request, caller: Reader) -> Response:
    """List the exports of this key's tenant or user, the latest first."""
    return _respond_list(_transfers(request).list("export", caller.tenant, caller.user_id))


def _respond_list(items: list[Transfer]) -> JSONResponse:
    states = [TransferState.model_validate(item).model_dump(mode="json") for item in items]
    return JSONResponse({"transfers": states})


@router.get(
    "/exports/{transfer_id}",
    name="exports_get",
    response_model=TransferState,
    responses=problem_responses(404),
)
async def get_export(transfer_id: TransferId, request: Request, caller: Reader) -> Response:
    """Return the state of an export."""
    return _respond(_find(request, "export", transfer_id, caller))


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
    item = _find(request, "export", transfer_id, caller)
    if item.status != "done":
        why = item.error or "it is still being written"
        raise ProblemError(409, f"the export is {item.status}: {why}", {"Retry-After": "1"})
    path = _transfers(request).path(transfer_id)
    return FileResponse(path, media_type=LINES, filename="memory.jsonl")


@router.delete(
    "/exports/{transfer_id}",
    name="exports_delete",
    status_code=204,
    responses=problem_responses(404),
)
async def delete_export(transfer_id: TransferId, request: Request, caller: Reader) -> None:
    """Delete an export; its work ends."""
    _transfers(request).delete(_find(request, "export", transfer_id, caller))


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
                403,
                "settings=true needs the scope admin: settings apply to the whole namespace",
            )
        settings = False
    transfers = _transfers(request)
    owner = caller.tenant, caller.user_id
    if (earlier := transfers.find_repeated("import", *owner, idempotency_key)) is not None:
        return _respond(earlier, CREATED)
    item = transfers.begin("import", *owner, idempotency_key)
    await transfers.store(item, request.stream(), state_of(request).options.largest_import)
    transfers.run_import(
        item,
        lambda path, note: memory.import_from(path, settings=settings, on_session=note),
    )
    return _respond(item, CREATED)


@router.get(
    "/imports",
    name="imports_list",
    response_model=TransferList,
    responses=problem_responses(),
)
async def list_imports(request: Request, caller: Writer) -> Response:
    """List the imports of this key's tenant, the latest first."""
    caller.whole()
    return _respond_list(_transfers(request).list("import", caller.tenant, caller.user_id))


@router.get(
    "/imports/{transfer_id}",
    name="imports_get",
    response_model=TransferState,
    responses=problem_responses(404),
)
async def get_import(transfer_id: TransferId, request: Request, caller: Writer) -> Response:
    """Return the state of an import, and what it has stored so far."""
    caller.whole()
    return _respond(_find(request, "import", transfer_id, caller))


@router.delete(
    "/imports/{transfer_id}",
    name="imports_delete",
    status_code=204,
    responses=problem_responses(404),
)
async def delete_import(transfer_id: TransferId, request: Request, caller: Writer) -> None:
    """Forget an import; it ends after the session in hand, and what it has stored stays."""
    caller.whole()
    _transfers(request).delete(_find(request, "import", transfer_id, caller))
