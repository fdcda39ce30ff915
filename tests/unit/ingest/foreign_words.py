"""Files of words and numbers that are no conversations: prose, mail, tables, server logs."""

import json
import random

_chance = random.Random(18)


def _numbers(columns: str, rows: int = 40) -> str:
    width = columns.count(",") + 1
    lines = (",".join(f"{_chance.random():.4f}" for _ in range(width)) for _ in range(rows))
    return "\n".join([columns, *lines]) + "\n"


def _repeat(*lines: str, times: int = 12) -> str:
    """The lines over and over, their minute counted up."""
    return "".join(f"{line}\n".replace("MM", f"{n:02}") for n in range(times) for line in lines)


WORDS: dict[str, str] = {
    "README.md": """# Example

Ask it a question:

```json
[{"role": "user", "content": "What is a route?"},
 {"role": "assistant", "content": "One ranked list."}]
```

> It answers quickly.

Then it prints:

    User: What is a route?
    Assistant: One ranked list.
""",
    "GUIDE.md": """# Guide

{"messages": [{"role": "user", "content": "hi"}]}
{"messages": [{"role": "assistant", "content": "hello"}]}

Both lines above are examples of a log.

## User

What a user does.

## Setup

What the setup is.
""",
    "roles.md": """# Roles

## User

A user may read.

## Assistant

An assistant may write.

## Admin

An admin may do both.
""",
    "notes.md": """# Notes

Note: bring a coat.
Warning: it rains.
Note: bring two.
Warning: it pours.
""",
    "quotes.md": """> The first saying of the day.

Somebody said so long ago, and it stayed.

> The second one.

# Sources

> The third one.
""",
    "admonitions.md": "> [!NOTE]\n> Read this.\n\nText.\n\n> [!TIP]\n> And this.\n\nMore text.\n",
    "CHANGELOG.md": "# Changes\n\n## 1.1\n\n- Fixed: a fault\n- Added: a route\n\n## 1.0\n\nAll\n",
    "letter.txt": "Dear Ada,\n\nI hope this finds you well. Note: I moved.\n\nYours,\nBo\n",
    "story.txt": """It rained. "User: unknown," the screen said.

He typed again: nothing. Then: a light.

"Assistant: ready," it said at last.
""",
    "recipe.txt": """Pancakes

Serves: 4
Time: 20 minutes

Ingredients:
- 2 eggs
- milk: 300 ml
- flour: 150 g

Method:
Step 1: Whisk the eggs.
Step 2: Add the milk.
Step 1: Repeat until smooth.
Step 2: Fry.
""",
    "todo.txt": "TODO: call Bo\nDONE: write to Ada\nTODO: buy milk\nDONE: pay the rent\n",
    "addresses.txt": """Name: Ada Lovelace
Phone: 12 34 56
Name: Bo Diddley
Phone: 65 43 21
Name: Cy Twombly
Phone: 11 22 33
""",
    "bibliography.txt": "Author: Ada\nTitle: On engines\nAuthor: Bo\nTitle: On guitars\n",
    "help.txt": """Usage: example [OPTIONS] COMMAND

  Ask and be answered.

Options:
  --user TEXT   whose memory
  --model TEXT  which model
  --help        show this and exit

Commands:
  ask:    ask a question
  answer: show an answer
  ask:    ask again
  answer: show it again
""",
    "gitlog.txt": _repeat(
        "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "Author: Ada Lovelace <ada@example.org>",
        "Date:   Mon May 6 10:MM:00 2024 +0200",
        "",
        "    Fix the answer: it was 41",
        "",
    ),
    "gitlog_pretty.txt": _repeat("Author: Ada Lovelace", "Date: Mon May 6 10:MM:00 2024", ""),
    "mail.mbox.txt": """From ada@example.org Mon May  6 10:00:00 2024
From: Ada <ada@example.org>
To: Bo <bo@example.org>
Subject: Lunch
Date: Mon, 6 May 2024 10:00:00 +0200

Shall we?

From bo@example.org Mon May  6 11:00:00 2024
From: Bo <bo@example.org>
To: Ada <ada@example.org>
Subject: Re: Lunch
Date: Mon, 6 May 2024 11:00:00 +0200

> Shall we?

Yes.
""",
    "mail.eml.txt": """From: Ada <ada@example.org>
To: Bo <bo@example.org>
Subject: Re: Lunch

On Monday Bo wrote:
> one
> two
> three

Fine.
""",
    "inbox.csv": "from,to,subject,body\nada,bo,Lunch,Shall we?\nbo,ada,Re: Lunch,Yes.\n" * 2,
    "sensor.csv": _numbers("time,temperature,humidity,pressure"),
    "matrix.csv": _numbers("a,b,c,d,e,f"),
    "training.csv": _numbers("input,output"),
    "types.csv": _numbers("type,value,date"),
    "scores.csv": _numbers("user,text,score"),
    "prices.tsv": _numbers("name,value,ts").replace(",", "\t"),
    "people.csv": "id,name,role,text\n1,Ada,engineer,likes tea\n2,Bo,writer,likes coffee\n",
    "reviews.csv": "author,text,date\n"
    + "".join(f"reader{n},It was good number {n},2024-05-01\n" for n in range(20)),
    "commits.csv": "author,date,message\n"
    + "".join(f"{('ada', 'bo')[n % 3 == 0]},2024-05-{n + 1:02},Fix {n}\n" for n in range(20)),
    "catalogue.csv": "title,author,content\nOn engines,Ada,Of engines\nOn guitars,Bo,Of them\n",
    "access.log.txt": _repeat(
        '127.0.0.1 - - [06/May/2024:10:MM:00 +0200] "GET /user: HTTP/1.1" 200 512'
    ),
    "app.log.txt": _repeat(
        "2024-05-06 10:MM:00 - INFO: request served",
        "2024-05-06 10:MM:01 - ERROR: request failed",
    ),
    "bracket.log.txt": _repeat(
        "[2024-05-06 10:MM:00] INFO: user logged in",
        "[2024-05-06 10:MM:02] WARNING: slow answer",
    ),
    "laravel.log.txt": _repeat(
        "[2024-05-06 10:MM:00] production.ERROR: No such user",
        "[2024-05-06 10:MM:02] production.INFO: Mail sent",
    ),
    "service.log.txt": _repeat(
        "[2024-05-06, 10:MM] app.server: started", "[2024-05-06, 10:MM] app.worker: started"
    ),
    "level.log.txt": _repeat("INFO: started", "DEBUG: looked", "INFO: done", "ERROR: failed"),
    "clock.log.txt": _repeat("[10:MM:00] server: started", "[10:MM:01] worker: started"),
    "syslog.txt": _repeat(
        "May  6 10:MM:00 host kernel: eth0 up", "May  6 10:MM:01 host sshd[12]: user ada"
    ),
    "postgres.log.txt": _repeat(
        "2024-05-06 10:MM:00.000 UTC [7] LOG:  checkpoint starting: time",
        "2024-05-06 10:MM:01.000 UTC [7] STATEMENT:  SELECT 1",
    ),
    "pino.jsonl": _repeat(
        *(
            json.dumps({"level": "info", "time": "2024-05-06T10:MM:00Z", "name": n, "message": m})
            for n, m in (("server", "request served"), ("worker", "job done"))
        )
    ),
    "audit.jsonl": _repeat(
        *(
            json.dumps({"timestamp": "2024-05-06T10:MM:00Z", "user": u, "message": m})
            for u, m in (("root", "session opened"), ("ada", "file read"), ("root", "closed"))
        )
    ),
    "events.jsonl": _repeat(
        *(
            json.dumps({"type": kind, "text": "step MM", "timestamp": "2024-05-06T10:MM:00Z"})
            for kind in ("LIST_DIRECTORY", "SYSTEM_MESSAGE", "PLANNER")
        )
    ),
    "metrics.jsonl": _repeat('{"name": "cpu", "value": "MM", "ts": 1714982400}'),
    "poem.txt": "Of asking: much.\nOf answering: less.\nOf asking: more.\nOf answering: none.\n",
    "minutes.txt": """Minutes of Monday

Present: Ada, Bo
Absent: Cy

Decision: we meet again
Action: Ada writes
Decision: nothing else
Action: Bo reads
""",
    "captions.txt": "Figure 1: A plot\nTable 1: Numbers\nFigure 2: A plot\nTable 2: Numbers\n",
    "robots.txt": "User-agent: *\nDisallow: /a\nUser-agent: b\nDisallow: /b\n",
}
