import createClient, { type Client } from "openapi-fetch";
import { ConnectionFailedError, errorOf } from "./errors.js";
import { KEYED, SAFE } from "./operations.js";
import type { components, paths } from "./schema.js";

export * from "./errors.js";
export type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
type Query<Path extends keyof paths, Method extends "get" | "post" = "get"> = paths[Path] extends {
  [M in Method]: { parameters: { query?: infer Q } };
}
  ? NonNullable<Q>
  : never;

export type Memory = Schemas["Memory"];
export type Message = Schemas["MessageIn"];
export type Added = Schemas["AddAnswer"];
export type SearchAnswer = Schemas["SearchAnswer"];
export type FoundMemory = Schemas["FoundMemory"];
export type ContextAnswer = Schemas["ContextAnswer"];
export type ErasureReceipt = Schemas["ErasureReceipt"];
export type AddOptions = Omit<Schemas["NewMemories"], "messages" | "user_id">;
export type SearchOptions = Omit<Schemas["SearchBody"], "query" | "user_id" | "all_users">;
export type ContextOptions = Omit<Schemas["ContextBody"], "prompt" | "user_id" | "all_users">;
export type UpdateOptions = Schemas["UpdateBody"];
export type ListOptions = Omit<Query<"/v1/memories">, "user_id" | "all_users" | "cursor">;
export type IngestOptions = Omit<Query<"/v1/ingest", "post">, "user_id" | "name">;
export type IngestReport = Schemas["IngestAnswer"];
export type EraseOptions = Omit<Schemas["EraseBody"], "user_id">;
/** A line of an export, which an import reads. */
export type ExportLine = Record<string, unknown>;

/** Options of one call, beside its arguments. */
export interface Call {
  /** Ends the call, with the signal's reason as the error. */
  signal?: AbortSignal;
  /** A write that is repeated under its key is done once; each call makes one by itself. */
  idempotencyKey?: string;
}

export interface ClientOptions {
  /** Address of the server, such as http://localhost:8321. */
  url: string;
  /** Access key, as `memsense key create` prints it. */
  key?: string;
  /** Part of the tenant's memory to work in; by default that of the key, else of the server. */
  namespace?: string;
  /** Milliseconds for each attempt of a request; by default 30,000. */
  timeout?: number;
  /** Further attempts after lost connections, 408, 429, 500, 502 and 503; by default 2. */
  retries?: number;
  /** Sends the requests, in place of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

type Outcome<T> =
  | { data: T; error?: never; response: Response }
  | { data?: never; error: unknown; response: Response };

const RETRIED = new Set([408, 429, 500, 502, 503]);
const LONGEST_WAIT = 30_000;

/** Client of a memsense server. */
export class MemSense {
  /** Every operation of the server, typed by its OpenAPI text; `unwrap` throws its errors. */
  readonly api: Client<paths>;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #safe = new WeakSet<Request>();

  constructor({ url, key, namespace, timeout = 30_000, retries = 2, fetch }: ClientOptions) {
    this.#timeout = timeout;
    this.#retries = retries;
    this.#fetch = fetch ?? ((request) => globalThis.fetch(request));
    this.api = createClient<paths>({
      baseUrl: url,
      headers: {
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(namespace === undefined ? {} : { "Memsense-Namespace": encodeURIComponent(namespace) }),
      },
      fetch: (request) => this.#send(request),
    });
    this.api.use({
      onRequest: ({ request, schemaPath }) => {
        const operation = `${request.method} ${schemaPath}`;
        if (KEYED.has(operation) && !request.headers.has("Idempotency-Key")) {
          request.headers.set("Idempotency-Key", newKey());
        }
        if (request.method === "GET" || SAFE.has(operation)) this.#safe.add(request);
      },
    });
  }

  /** Return the memory of one user. */
  forUser(userId: string): UserMemory {
    return new UserMemory(this, userId);
  }

  /** Return the data of a call of `api`; throw the error that fits its status. */
  async unwrap<T>(call: Promise<Outcome<T>>): Promise<T> {
    const outcome = await call;
    if (!outcome.response.ok || !("data" in outcome)) throw errorOf(outcome.response, outcome.error);
    return outcome.data;
  }

  async #send(request: Request): Promise<Response> {
    // What might be stored already is repeated only under a key by which the server recognises it.
    const isRepeatable = this.#safe.has(request) || request.headers.has("Idempotency-Key");
    for (let attempt = 0; ; attempt++) {
      const isLast = !isRepeatable || attempt >= this.#retries;
      let wait = Math.random() * 250 * 2 ** attempt;
      try {
        const response = await this.#try(request);
        if (isLast || !RETRIED.has(response.status)) return response;
        wait = Math.max(wait, Number(response.headers.get("Retry-After")) * 1000 || 0);
        // Otherwise node keeps the connection for a body that nobody reads.
        await response.body?.cancel();
      } catch (error) {
        request.signal.throwIfAborted();
        if (isLast) {
          const { pathname } = new URL(request.url);
          const reason = error instanceof Error ? error.message : String(error);
          throw new ConnectionFailedError(`${request.method} ${pathname} had no answer: ${reason}`, {
            cause: error,
          });
        }
      }
      await pause(Math.min(wait, LONGEST_WAIT), request.signal);
    }
  }

  /** Send a request once; its time also covers the body of the answer, unless that is a stream. */
  async #try(request: Request): Promise<Response> {
    const timer = new AbortController();
    const expires = setTimeout(() => {
      timer.abort(new Error(`${this.#timeout} ms are over`));
    }, this.#timeout);
    try {
      const signal = AbortSignal.any([request.signal, timer.signal]);
      // A copy, as a body can be read once.
      const response = await this.#fetch(new Request(request.clone(), { signal }));
      if (!response.headers.get("Content-Type")?.includes("json") || isLines(response)) return response;
      return new Response(await response.arrayBuffer(), response);
    } finally {
      clearTimeout(expires);
    }
  }
}

const isLines = (response: Response): boolean =>
  response.headers.get("Content-Type")?.includes("ndjson") ?? false;

/** Return 32 random hexadecimal digits; browsers have `randomUUID` only over https. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Wait some milliseconds, or throw as soon as the signal aborts. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, milliseconds);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end);
  });
  signal.throwIfAborted();
}

/** One user's memory. The names of arguments are those of the HTTP API. */
export class UserMemory {
  constructor(
    readonly client: MemSense,
    readonly userId: string,
  ) {}

  /** Store messages of one session; the words alone are what the user said. */
  async add(
    messages: string | Message | Message[],
    options: AddOptions = {},
    call: Call = {},
  ): Promise<Added> {
    return this.client.unwrap(
      this.client.api.POST("/v1/memories", {
        body: { ...options, messages, user_id: this.userId },
        ...sent(call),
      }),
    );
  }

  /**
   * Read a conversation log of any known format, each exchange once; sent again, it adds what is new.
   * By its name a log without ids of its own is recognised. Long logs may need a longer `timeout`.
   */
  async ingest(
    log: Blob | string,
    name: string,
    options: IngestOptions = {},
    call: Call = {},
  ): Promise<IngestReport> {
    const body = new FormData();
    body.append("file", new Blob([log]), name);
    return this.client.unwrap(
      this.client.api.POST("/v1/ingest", {
        params: { query: { ...options, name, user_id: this.userId } },
        body: { file: name },
        bodySerializer: () => body,
        ...sent(call),
      }),
    );
  }

  /** Return the memories that best answer a question, best first. */
  async search(query: string, options: SearchOptions = {}, call: Call = {}): Promise<SearchAnswer> {
    return this.client.unwrap(
      this.client.api.POST("/v1/search", {
        body: { ...options, query, user_id: this.userId },
        ...sent(call),
      }),
    );
  }

  /** Return what a model should know for a prompt; `text` is empty if nothing concerns it. */
  async context(prompt: string, options: ContextOptions = {}, call: Call = {}): Promise<ContextAnswer> {
    return this.client.unwrap(
      this.client.api.POST("/v1/context", {
        body: { ...options, prompt, user_id: this.userId },
        ...sent(call),
      }),
    );
  }

  /** Return a memory by its id. */
  async get(chunkId: number, call: Call = {}): Promise<Memory> {
    return this.client.unwrap(
      this.client.api.GET("/v1/memories/{chunk_id}", { params: this.#row(chunkId), ...sent(call) }),
    );
  }

  /** Yield all memories, the latest first; `limit` is the size of the pages that are fetched. */
  async *list(options: ListOptions = {}, call: Call = {}): AsyncGenerator<Memory, void, undefined> {
    let cursor: string | null = null;
    do {
      const query: Query<"/v1/memories"> = { ...options, user_id: this.userId };
      if (cursor !== null) query.cursor = cursor;
      const page: Schemas["MemoryPage"] = await this.client.unwrap(
        this.client.api.GET("/v1/memories", { params: { query }, ...sent(call) }),
      );
      yield* page.memories;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** Change a memory; what is left out stays. With `if_version`, only if it is as it was read. */
  async update(chunkId: number, changes: UpdateOptions, call: Call = {}): Promise<Schemas["UpdateAnswer"]> {
    return this.client.unwrap(
      this.client.api.PATCH("/v1/memories/{chunk_id}", {
        params: this.#row(chunkId),
        body: changes,
        ...sent(call),
      }),
    );
  }

  /** Take a memory out of every search. */
  async forget(chunkId: number, reason?: string, call: Call = {}): Promise<Schemas["Changed"]> {
    return this.client.unwrap(
      this.client.api.POST("/v1/memories/{chunk_id}/forget", {
        params: this.#row(chunkId),
        body: { reason: reason ?? null },
        ...sent(call),
      }),
    );
  }

  /** Bring a forgotten or archived memory back. */
  async restore(chunkId: number, call: Call = {}): Promise<Schemas["Changed"]> {
    return this.client.unwrap(
      this.client.api.POST("/v1/memories/{chunk_id}/restore", {
        params: this.#row(chunkId),
        ...sent(call),
      }),
    );
  }

  /** Record whether a memory helped. */
  async feedback(chunkId: number, helpful: boolean, question?: string, call: Call = {}): Promise<void> {
    await this.client.unwrap(
      this.client.api.POST("/v1/memories/{chunk_id}/feedback", {
        params: this.#row(chunkId),
        body: { helpful, question: question ?? null },
        ...sent(call),
      }),
    );
  }

  /** Erase the whole memory for good, or a session or message of it. Needs the scope admin. */
  async erase(what: EraseOptions = {}, call: Call = {}): Promise<ErasureReceipt> {
    return this.client.unwrap(
      this.client.api.POST("/v1/erasures", { body: { ...what, user_id: this.userId }, ...sent(call) }),
    );
  }

  /** Yield the lines of an export while they arrive; leaving the loop ends it. */
  async *export(call: Call = {}): AsyncGenerator<ExportLine, void, undefined> {
    const stream = await this.client.unwrap(
      this.client.api.GET("/v1/export", {
        params: { query: { user_id: this.userId } },
        parseAs: "stream",
        ...sent(call),
      }),
    );
    if (stream === null) return;
    const reader = stream.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        rest += decoder.decode(value, { stream: !done });
        const lines = rest.split("\n");
        rest = done ? "" : (lines.pop() ?? "");
        for (const line of lines) {
          const item: unknown = line === "" ? undefined : JSON.parse(line);
          if (isLine(item)) yield item;
        }
        if (done) return;
      }
    } finally {
      await reader.cancel();
    }
  }

  #row(chunkId: number): { path: { chunk_id: number }; query: { user_id: string } } {
    return { path: { chunk_id: chunkId }, query: { user_id: this.userId } };
  }
}

const isLine = (value: unknown): value is ExportLine => typeof value === "object" && value !== null;

/** Return the options of a call as openapi-fetch takes them. */
function sent({ signal, idempotencyKey }: Call): { signal: AbortSignal | null; headers: Record<string, string> } {
  return {
    signal: signal ?? null,
    headers: idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey },
  };
}
