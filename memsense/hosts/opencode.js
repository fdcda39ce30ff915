// memsense's plugin for opencode: memories before a prompt, and what was said into memory.
// `memsense install opencode --user NAME --hooks` writes this file, and takes it away again.

import { spawn } from "node:child_process"

const COMMAND = ["memsense", "hook", "opencode"]
const ENVIRONMENT = {}
const PATIENCE = 2000 // milliseconds; the command itself gives up before

/** What memsense answers to an event, "" if it can't: opencode goes on without. */
function ask(event) {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, ...ENVIRONMENT },
      stdio: ["pipe", "pipe", "ignore"],
      timeout: PATIENCE,
    }
    const asked = spawn(COMMAND[0], COMMAND.slice(1), options)
    let told = ""
    asked.on("error", () => resolve(""))
    asked.stdin.on("error", () => resolve(""))
    asked.stdout.on("data", (data) => (told += data))
    asked.on("close", () => {
      try {
        resolve(told ? JSON.parse(told).context : "")
      } catch {
        resolve("")
      }
    })
    asked.stdin.end(JSON.stringify(event))
  })
}

export const MemSense = async ({ client }) => {
  const contexts = new Map()
  ask({ hook_event_name: "SessionStart" }) // memory is opened meanwhile

  async function capture(id) {
    const [info, messages] = await Promise.all([
      client.session.get({ path: { id } }),
      client.session.messages({ path: { id } }),
    ])
    const session = { info: info.data, messages: messages.data }
    await ask({ hook_event_name: "session.idle", session_id: id, session })
  }

  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const said = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = said.map((part) => part.text).join("\n")
      const event = { hook_event_name: "chat.message", session_id: sessionID, prompt }
      contexts.set(sessionID, await ask(event))
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      const context = contexts.get(sessionID)
      if (context) system.push(context)
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID
      if (event.type === "session.idle") await capture(id).catch(() => undefined)
      if (event.type === "session.compacted")
        await ask({ hook_event_name: "SessionStart", session_id: id, source: "compact" })
    },
  }
}
