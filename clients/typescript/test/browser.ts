/** The client in a browser, from another origin; the page that loads this hands the addresses over. */
import { AuthenticationError, MemSense } from "memsense";
import { collect, newUser, type Told } from "./told.js";

declare const told: Told;

const steps: string[] = [];
function check(holds: boolean, step: string): void {
  if (!holds) throw new Error(`${step} failed`);
  steps.push(step);
}

async function run(): Promise<void> {
  const ada = new MemSense({ url: told.url, key: told.key }).forUser(newUser());
  const added = await ada.add("My bicycle is green.");
  check(added.chunk_ids.length === 1, "add");
  const { hits } = await ada.search("What colour is my bicycle?");
  check(hits[0]?.content.includes("green") ?? false, "search");
  const { text } = await ada.context("What colour is my bicycle?");
  check(text.includes("green"), "context");
  for (const number of [1, 2, 3]) await ada.add(`I own ${number} canoes.`);
  check((await collect(ada.list({ limit: 2 }))).length === 4, "paging");
  check((await collect(ada.export())).length >= 4, "export stream");
  const wrong = new MemSense({ url: told.url, key: "wrong" }).forUser("ada");
  const error: unknown = await wrong.search("tea").catch((it: unknown) => it);
  check(error instanceof AuthenticationError, "errors");
  const controller = new AbortController();
  controller.abort();
  const aborted: unknown = await ada
    .search("tea", {}, { signal: controller.signal })
    .catch((it: unknown) => it);
  check(aborted instanceof DOMException && aborted.name === "AbortError", "abort");
  check((await ada.erase()).erasure_id !== "", "erase");
  check((await collect(ada.list())).length === 0, "nothing is left");
}

const send = (report: object): Promise<Response> =>
  fetch("/report", { method: "POST", body: JSON.stringify(report) });
run().then(
  () => send({ steps }),
  (error: unknown) => send({ error: String(error), steps }),
);
