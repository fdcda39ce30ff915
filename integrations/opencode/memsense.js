// memsense's plugin for opencode: recalls memories before a prompt, and ingests each session.
// `memsense install opencode --user NAME --hooks` writes this file, and `--remove` deletes it.

import { spawn } from "node:child_process"

const COMMAND = ["memsense", "hook", "opencode"]
const ENVIRONMENT = {}
const TIMEOUT = 5000 // milliseconds; the command itself gives up earlier

/** Return the memories for an event, or "" if memsense fails: opencode goes on without them. */
function send(event) {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, ...ENVIRONMENT },
      stdio: ["pipe", "pipe", "ignore"],
      timeout: TIMEOUT,
    }
    const child = spawn(COMMAND[0], COMMAND.slice(1), options)
    let output = ""
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => resolve(""))
    child.stdout.on("data", (data) => (output += data))
    child.on("close", () => {
      try {
        resolve(output ? JSON.parse(output).context : "")
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify(event))
  })
}

export const MemSense = async ({ client, directory }) => {
  const contexts = new Map()
  send({ hook_event_name: "SessionStart", cwd: directory }) // not awaited: the memory is opened in the background

  async function capture(id) {
    const [info, messages] = await Promise.all([
      client.session.get({ path: { id } }),
      client.session.messages({ path: { id } }),
    ])
    const session = { info: info.data, messages: messages.data }
    await send({ hook_event_name: "session.idle", session_id: id, cwd: directory, session })
  }

  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      const event = { hook_event_name: "chat.message", session_id: sessionID, cwd: directory, prompt }
      contexts.set(sessionID, await send(event))
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      const context = contexts.get(sessionID)
      if (context) system.push(context)
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID
      if (event.type === "session.idle") await capture(id).catch(() => undefined)
      if (event.type === "session.compacted")
        await send({
          hook_event_name: "SessionStart",
          session_id: id,
          cwd: directory,
          source: "compact",
        })
    },
  }
}
