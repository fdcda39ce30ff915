"""Pictures of each view for the docs.

`MEMSENSE_SCREENSHOTS=docs/images pytest tests/browser/test_pictures.py` makes them anew.
"""

import re
import zlib
from base64 import b64decode, b64encode
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING

import numpy as np
from looking import Site, name_changes, open_page, search_often

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LARGEST_IN_ALL = 600_000
COLOURS = 256
PIXELS = """async text => {
  const bitmap = await createImageBitmap(await (await fetch(text)).blob());
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  let bytes = "";
  for (let at = 0; at < data.length; at += 32768)
    bytes += String.fromCharCode(...data.subarray(at, at + 32768));
  return [bitmap.width, bitmap.height, btoa(bytes)];
}"""
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "page.md"


def compress(blank: "Page", png: bytes) -> bytes:
    """Return the picture with a palette of its most frequent colours, a third of the size."""
    text = f"data:image/png;base64,{b64encode(png).decode()}"
    width, height, pixels = blank.evaluate(PIXELS, text)
    data = np.frombuffer(b64decode(pixels), np.uint8).reshape(-1, 4)[:, :3].astype(np.int32)
    codes, places, counts = np.unique(
        (data >> 3) @ np.array([1024, 32, 1]), return_inverse=True, return_counts=True
    )
    colours = np.stack([codes >> 10, codes >> 5 & 31, codes & 31], axis=1) * 255 // 31
    palette = colours[np.argsort(-counts)[:COLOURS]]
    distances = ((colours[:, None] - palette[None]) ** 2).sum(axis=2)
    rows = distances.argmin(axis=1)[places].astype(np.uint8).reshape(height, width)
    lines = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    parts = (
        (b"IHDR", pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(part)) + kind + part + pack(">I", zlib.crc32(kind + part))
        for kind, part in parts
    )


def test_each_view_has_a_picture_in_the_docs(
    chromium: "Browser", site: Site, pictures: Path
) -> None:
    page = open_page(chromium, site, viewport={"width": 1000, "height": 640})
    blank = chromium.new_page()
    chunk_id = site.chunks["I drink green tea every morning instead of coffee."]
    other = site.chunks["Which tea shops do you know?"]
    site.memory.questions.label("Which tea do I drink?", chunk_id, right=True, user_id="ada")
    site.memory.update(other, content={"user": "Which tea shops are near the river?"})
    result = site.memory.search("Which tea do I drink?", user_id="ada", trace=True)
    site.memory.add([{"role": "user", "content": "My code is 4711."}], user_id="bo", session_id="x")
    receipt = site.memory.erase(user_id="bo")
    views = {
        "ask": "/ui/?q=Which+tea+do+I+drink%3F&user=ada",
        "context": "/ui/context?q=Which+tea+do+I+drink%3F&user=ada&silence=0",
        "memories": "/ui/memories?user=ada",
        "session": "/ui/memories/session?user=ada&session=monday",
        "memory": f"/ui/memories/{other}?saved=true",
        "add": "/ui/add",
        "traces": "/ui/traces",
        "trace": f"/ui/traces/{result.trace_id}",
        "difference": f"/ui/traces/{result.trace_id}/difference"
        f"?a={result[0].chunk_id}&b={result[1].chunk_id}",
        "weights": f"/ui/traces/{result.trace_id}/replay?lexical=0",
        "questions": "/ui/questions/set?name=questions&lexical=0",
        "settings": "/ui/settings",
        "keys": "/ui/keys",
        "erasures": f"/ui/erasures/{receipt.erasure_id}",
        "health": "/ui/health",
        "pulse": "/ui/",
        "user": "/ui/users/ada",
    }
    name_changes(site)
    search_often(site)
    sizes: dict[str, int] = {}
    for name, path in views.items():
        page.goto(path)
        picture = compress(blank, page.screenshot())
        sizes[name] = (pictures / f"page_{name}.png").write_bytes(picture)
    page.context.close()
    blank.close()
    assert sum(sizes.values()) < LARGEST_IN_ALL, sizes
    shown = re.findall(r"\.\./images/page_(\w+)\.png", GUIDE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(views)
