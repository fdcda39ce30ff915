"""Page *Erasures*: receipts of what was erased for good."""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from memsense.inputs import LARGEST_LIMIT
from memsense.server.page.keys import Admin
from memsense.server.problems import ProblemError

router = APIRouter(prefix="/ui/erasures", include_in_schema=False)

RECEIPTS = 100


@router.get("")
async def list_erasures(visitor: Admin, about: str = "") -> Response:
    """Show the receipts, or those about an id."""
    receipts = await visitor.caller.whole().erasures.list(limit=RECEIPTS, about=about or None)
    return visitor.page("erasures.html", receipts=receipts, about=about)


@router.get("/{erasure_id}")
async def show_erasure(erasure_id: UUID, visitor: Admin) -> Response:
    """Show one receipt."""
    receipts = await visitor.caller.whole().erasures.list(limit=LARGEST_LIMIT)
    for receipt in receipts:
        if receipt.erasure_id == erasure_id:
            return visitor.page("receipt.html", receipt=receipt.as_dict())
    raise ProblemError(404, f"no erasure {erasure_id} in this namespace")
