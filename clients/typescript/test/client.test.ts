import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";
import {
  AuthenticationError,
  CallTimeoutError,
  ConflictError,
  ConnectionFailedError,
  InvalidInputError,
  MemSense,
  MemSenseError,
  NotFoundError,
  PermissionDeniedError,
  QuotaExceededError,
  RateLimitError,
  UnavailableError,
  VersionConflictError,
} from "memsense";
import { collect, newUser, readTold } from "./told.js";

const told = readTold(process.env.MEMSENSE_TEST ?? "null");
const { url, key } = told;
const memory = new MemSense({ url, key });

/** Run a server of node's within a test; it gets the requests in the order in which they come. */
async function serve(listener: RequestListener, use: (address: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test("what is added is found, and given to a model", async () => {
  const ada = memory.forUser(newUser());
  const added = await ada.add(
    [
      { role: "user", content: "My bicycle is green." },
      { role: "assistant", content: "Noted." },
    ],
    { session_id: "monday", tags: ["things"] },
  );
  assert.equal(added.memories?.length, 1);
  assert.deepEqual(added.chunk_ids, [added.memories?.[0]?.chunk_id]);
  const { hits } = await ada.search("What colour is my bicycle?", { top_k: 3, tags: ["things"] });
  assert.match(hits[0]?.content ?? "", /green/);
  assert.ok((hits[0]?.explain.final_score ?? 0) > 0);
  const { text } = await ada.context("What colour is my bicycle?", { max_tokens: 500 });
  assert.match(text, /green/);
});

test("each namespace has a memory of its own", async () => {
  const user = newUser();
  const there = new MemSense({ url, key, namespace: "café" });
  await there.forUser(user).add("I keep two hives.");
  assert.equal((await there.forUser(user).search("hives")).hits.length, 1);
  assert.deepEqual((await memory.forUser(user).search("hives")).hits, []);
  const { namespaces } = await memory.unwrap(memory.api.GET("/v1/namespaces"));
  assert.ok(namespaces.includes("café"));
});

test("a log is stored once, however often it is sent", async () => {
  const ada = memory.forUser(newUser());
  const log = JSON.stringify({ messages: [{ role: "user", content: "I keep two hives." }] });
  const preview = await ada.ingest(log, "log.json", { dry_run: true });
  assert.deepEqual([preview.dry_run, preview.stored, await collect(ada.list())], [true, 1, []]);
  const first = await ada.ingest(new Blob([log]), "log.json", { tags: ["bees"] });
  assert.deepEqual([first.stored, first.users], [1, [ada.userId]]);
  const again = await ada.ingest(log, "log.json");
  assert.deepEqual([again.stored, again.repeated], [0, 1]);
  const wrong = ada.ingest(log, "log.json", { format: "chatgbt" });
  await assert.rejects(wrong, (error) => error instanceof InvalidInputError && /chatgbt/.test(error.message));
});

test("a memory is read, changed, forgotten and restored", async () => {
  const ada = memory.forUser(newUser());
  const [chunkId] = (await ada.add("I keep two hives.")).chunk_ids;
  assert.ok(chunkId !== undefined);
  assert.equal((await ada.get(chunkId)).user_text, "I keep two hives.");
  const changed = await ada.update(chunkId, { content: { user: "I keep three hives." } });
  assert.equal(changed.user_text, "I keep three hives.");
  assert.deepEqual((await ada.forget(chunkId, "sold")).chunk_ids, [chunkId]);
  assert.deepEqual((await ada.search("hives")).hits, []);
  assert.deepEqual((await ada.restore(chunkId)).chunk_ids, [chunkId]);
  await ada.feedback(chunkId, true, "How many hives?");
  assert.equal((await ada.search("hives")).hits.length, 1);
});

test("of two changes of one version one is done", async () => {
  const ada = memory.forUser(newUser());
  const [added] = (await ada.add("I keep two hives.")).memories ?? [];
  assert.ok(added !== undefined);
  const change = (tag: string) => ada.update(added.chunk_id, { tags: [tag], if_version: added.version });
  const changes = await Promise.allSettled([change("one"), change("two")]);
  const refused = changes.flatMap((it): unknown[] => (it.status === "rejected" ? [it.reason] : []));
  assert.equal(refused.length, 1);
  assert.ok(refused[0] instanceof VersionConflictError && refused[0] instanceof ConflictError);
});

test("a key that may not read gets the ids alone", async () => {
  const added = await new MemSense({ url, key: told.writer }).forUser(newUser()).add("I like tea.");
  assert.equal(added.chunk_ids.length, 1);
  assert.equal(added.memories, undefined);
});

test("pages are fetched as they are needed", async () => {
  let requests = 0;
  const counting = new MemSense({
    url,
    key,
    fetch: (request) => {
      requests++;
      return fetch(request);
    },
  });
  const ada = counting.forUser(newUser());
  for (let number = 0; number < 7; number++) await ada.add(`Fact number ${number}.`);
  requests = 0;
  const ids = new Set((await collect(ada.list({ limit: 3 }))).map((it) => it.chunk_id));
  assert.equal(ids.size, 7);
  assert.equal(requests, 3);
  requests = 0;
  await ada.list({ limit: 3 }).next();
  assert.equal(requests, 1);
});

test("an export arrives line by line, whatever its letters", async () => {
  const ada = memory.forUser(newUser());
  for (let number = 0; number < 20; number++) await ada.add(`Größe ${number}: ${"漢字".repeat(400)}`);
  const lines = await collect(ada.export());
  assert.equal(lines.filter((line) => JSON.stringify(line).includes("漢字漢字")).length, 20);
  const early = ada.export();
  await early.next();
  await early.return();
});

test("every other route is there, and a name may have slashes", async () => {
  const created = await memory.unwrap(
    memory.api.POST("/v1/projects", { body: { name: "kitchen/stove", session_ids: [] } }),
  );
  assert.equal(created.name, "kitchen/stove");
  const params = { path: { name: "kitchen/stove" } };
  const found = await memory.unwrap(memory.api.GET("/v1/projects/{name}", { params }));
  assert.equal(found.name, "kitchen/stove");
  await memory.unwrap(memory.api.DELETE("/v1/projects/{name}", { params }));
});

test("each error has a class of its own", async () => {
  const ada = memory.forUser(newUser());
  await assert.rejects(
    ada.search("tea", { top_k: 0 }),
    (error) => error instanceof InvalidInputError && error.arguments.includes("top_k"),
  );
  await assert.rejects(new MemSense({ url, key: "wrong" }).forUser("x").search("tea"), AuthenticationError);
  await assert.rejects(new MemSense({ url }).forUser("x").search("tea"), AuthenticationError);
  await assert.rejects(new MemSense({ url, key: told.reader }).forUser("x").add("Tea."), PermissionDeniedError);
  await assert.rejects(ada.get(999_999), NotFoundError);
  await assert.rejects(ada.search("tea", { timeout: 0.001 }), CallTimeoutError);
  const small = new MemSense({ url, key: told.small }).forUser(newUser());
  await small.add("The first.");
  await assert.rejects(small.add("The second."), QuotaExceededError);
  const slow = new MemSense({ url: told.slow, key, retries: 0 }).forUser("x");
  const searches = await Promise.allSettled([1, 2, 3].map(() => slow.search("tea")));
  const reasons = searches.flatMap((it): unknown[] => (it.status === "rejected" ? [it.reason] : []));
  assert.ok(reasons.some((error) => error instanceof RateLimitError && error.headers.has("Retry-After")));
  const away = new MemSense({ url: "http://127.0.0.1:9", retries: 1 }).forUser("x");
  await assert.rejects(away.search("tea"), ConnectionFailedError);
});

test("what another program answers is an error, too", async () => {
  const answers: [number, typeof MemSenseError][] = [[503, UnavailableError], [418, MemSenseError]];
  for (const [status, kind] of answers) {
    await serve(
      (_, response) => response.writeHead(status, { "content-type": "text/html" }).end("<h1>no</h1>"),
      async (address) => {
        const search = new MemSense({ url: address, retries: 0 }).forUser("x").search("tea");
        await assert.rejects(search, (error) => error instanceof kind && error.status === status);
      },
    );
  }
});

test("a write is done once under its key", async () => {
  const ada = memory.forUser(newUser());
  const call = { idempotencyKey: newUser() };
  const one = await ada.add("I like kiwis.", {}, call);
  assert.deepEqual((await ada.add("I like kiwis.", {}, call)).chunk_ids, one.chunk_ids);
  await assert.rejects(ada.add("I like plums.", {}, call), ConflictError);
});

test("a write whose answer is lost is sent again and stored once", async () => {
  const user = newUser();
  const keys: (string | null)[] = [];
  const losing = new MemSense({
    url,
    key,
    fetch: async (request) => {
      keys.push(request.headers.get("Idempotency-Key"));
      const response = await fetch(request);
      if (keys.length > 1) return response;
      await response.arrayBuffer();
      throw new TypeError("the connection was lost");
    },
  });
  await losing.forUser(user).add("Only once.");
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  const [chunk, ...others] = await collect(memory.forUser(user).list());
  assert.equal(chunk?.user_text, "Only once.");
  assert.deepEqual(others, []);
});

test("promoting after a lost answer raises the score once", async () => {
  const ada = memory.forUser(newUser());
  const [chunkId] = (await ada.add("I like tea.")).chunk_ids;
  assert.ok(chunkId !== undefined);
  let sent = 0;
  await serve(
    (request, response) => {
      // Passes the request on, and drops the connection instead of the first answer.
      const headers = new Headers();
      for (const name of ["authorization", "content-type", "idempotency-key"]) {
        const value = request.headers[name];
        if (typeof value === "string") headers.set(name, value);
      }
      void fetch(url + (request.url ?? ""), { method: "POST", headers }).then(async (answer) => {
        const body = await answer.text();
        if (++sent === 1) request.socket.destroy();
        else response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
      });
    },
    async (address) => {
      const before = await ada.get(chunkId);
      const losing = new MemSense({ url: address, key });
      const path = { chunk_id: chunkId };
      await losing.unwrap(losing.api.POST("/v1/memories/{chunk_id}/promote", { params: { path } }));
      assert.equal(sent, 2);
      const after = await ada.get(chunkId);
      assert.ok(Math.abs(after.memory_score - before.memory_score - 0.15) < 1e-6);
    },
  );
});

test("a request waits as long as Retry-After says, and is sent again", async () => {
  let requests = 0;
  await serve(
    (_, response) => {
      if (++requests === 1) response.writeHead(429, { "retry-after": "1" }).end();
      else response.writeHead(200, { "content-type": "application/json" }).end('{"hits":[]}');
    },
    async (address) => {
      const begin = performance.now();
      const { hits } = await new MemSense({ url: address }).forUser("x").search("tea");
      assert.deepEqual(hits, []);
      assert.equal(requests, 2);
      assert.ok(performance.now() - begin >= 990);
    },
  );
});

test("what might be stored already is not sent again without a key", async () => {
  let requests = 0;
  await serve(
    (_, response) => {
      requests++;
      response.writeHead(503).end();
    },
    async (address) => {
      const client = new MemSense({ url: address });
      const body = { name: "kitchen", session_ids: [] };
      await assert.rejects(client.unwrap(client.api.POST("/v1/projects", { body })), UnavailableError);
      assert.equal(requests, 1);
    },
  );
});

test("an answer that does not come in time is no answer", async () => {
  await serve(
    (_, response) => response.writeHead(200, { "content-type": "application/json" }).write('{"hits":'),
    async (address) => {
      const client = new MemSense({ url: address, timeout: 50, retries: 1 });
      await assert.rejects(client.forUser("x").search("tea"), ConnectionFailedError);
    },
  );
});

test("a caller's abort ends a call at once, also while it waits", async () => {
  const controller = new AbortController();
  controller.abort();
  const { signal } = controller;
  await assert.rejects(memory.forUser("x").search("tea", {}, { signal }), { name: "AbortError" });
  let requests = 0;
  const late = new AbortController();
  await serve(
    (_, response) => {
      requests++;
      response.writeHead(503, { "retry-after": "20" }).end();
      setTimeout(() => late.abort(), 50);
    },
    async (address) => {
      const client = new MemSense({ url: address });
      const search = client.forUser("x").search("tea", {}, { signal: late.signal });
      await assert.rejects(search, { name: "AbortError" });
      assert.equal(requests, 1);
    },
  );
});

test("an erased memory is gone, and its receipt says so", async () => {
  const ada = memory.forUser(newUser());
  await ada.add("Forget me.");
  assert.ok((await ada.erase()).erasure_id);
  assert.deepEqual(await collect(ada.list()), []);
});
