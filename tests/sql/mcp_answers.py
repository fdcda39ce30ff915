"""Calls of the MCP server's tools, and the ids in their answers."""

import re

from mcp import Client
from mcp_types import CallToolResult, TextContent


async def call(client: Client, tool: str, **arguments: object) -> CallToolResult:
    """Return the answer of a tool."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return result


async def ask(client: Client, tool: str, **arguments: object) -> str:
    """Return the text of a call that succeeds, which is all of its answer."""
    result = await call(client, tool, **arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """Return the text of an answer."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def ids_in(text: str) -> list[int]:
    """Return the chunks of an answer's headings, or those that were stored, in their order."""
    stored = re.match(r"Remembered for \w+: chunks? ([\d, ]+)\.", text)
    if stored:
        return [int(number) for number in stored[1].split(", ")]
    ids = re.findall(r"^(?:(?:\d+\. )?chunk (\d+), |> \[(\d+)[],])", text, re.MULTILINE)
    return [int(heading or quoted) for heading, quoted in ids]
