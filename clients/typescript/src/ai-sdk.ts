/** Memory for the Vercel AI SDK, versions 6 and 7. */
import { jsonSchema, tool, wrapLanguageModel, type LanguageModelMiddleware, type Tool } from "ai";
import type { ContextOptions, SearchOptions, UserMemory } from "./index.js";

type Model = Parameters<typeof wrapLanguageModel>[0]["model"];
type Wrapped = ReturnType<typeof wrapLanguageModel>;
type Params = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"];
type UserMessage = Extract<Params["prompt"][number], { role: "user" }>;
type Parts = readonly { type: string; text?: unknown }[];

/** The frame of a context in a prompt, which is never stored. */
const FRAMED = /\s*<memsense-context>[\s\S]*?<\/memsense-context>\s*/g;

const textOf = (parts: Parts): string =>
  parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("");

export interface MemoryOptions {
  /** The conversation that the turns are stored in. */
  sessionId?: string;
  /** Arguments of `context`, such as `max_tokens`. */
  context?: ContextOptions;
  /** Whether to store the user's question and the answer; by default true. */
  store?: boolean;
  /** Called with the errors of the memory, which never stop a chat. */
  onError?: (error: unknown) => void;
}

/**
 * Return middleware that gives a model one user's memory: what concerns the user's turn stands behind
 * it, and turn and answer are stored after the last step.
 */
export function memoryMiddleware(
  memory: UserMemory,
  options: MemoryOptions = {},
): LanguageModelMiddleware {
  const { sessionId, context = {}, store = true, onError } = options;
  let latest = { question: "", text: "" };

  async function recall(question: string): Promise<string> {
    try {
      const { text } = await memory.context(question, context);
      latest = { question, text };
      return text;
    } catch (error) {
      onError?.(error);
      return "";
    }
  }

  async function remember(prompt: Params["prompt"], answer: string): Promise<void> {
    const question = textOf(prompt.findLast(isUser)?.content ?? []).replace(FRAMED, "");
    if (!store || question.trim() === "" || answer.trim() === "") return;
    try {
      await memory.add(
        [
          { role: "user", content: question },
          { role: "assistant", content: answer },
        ],
        sessionId === undefined ? {} : { session_id: sessionId },
      );
    } catch (error) {
      onError?.(error);
    }
  }

  return {
    specificationVersion: "v3",

    async transformParams({ params }) {
      const place = params.prompt.findLastIndex(isUser);
      const message = params.prompt[place];
      if (message === undefined || !isUser(message)) return params;
      const question = textOf(message.content).replace(FRAMED, "");
      if (question.trim() === "") return params;
      // Behind a tool's result the same turn goes on, and its context stays as it is.
      const goesOn = place < params.prompt.length - 1 && latest.question === question;
      const text = goesOn ? latest.text : await recall(question);
      if (text === "") return params;
      // `context` frames it as FRAMED reads it.
      const content = [...message.content, { type: "text" as const, text: `\n\n${text}` }];
      return { ...params, prompt: params.prompt.with(place, { ...message, content }) };
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const calls = result.content.some(({ type }) => type === "tool-call");
      if (!calls) await remember(params.prompt, textOf(result.content));
      return result;
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      let answer = "";
      let calls = false;
      const watch = new TransformStream<StreamPart, StreamPart>({
        transform(part, controller) {
          if (part.type === "text-delta") answer += part.delta;
          if (part.type === "tool-call") calls = true;
          controller.enqueue(part);
        },
        async flush() {
          if (!calls) await remember(params.prompt, answer);
        },
      });
      return { stream: stream.pipeThrough(watch), ...rest };
    },
  };
}

type Streamed = Awaited<ReturnType<Wrapped["doStream"]>>["stream"];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

const isUser = (message: Params["prompt"][number]): message is UserMessage => message.role === "user";

/** Return the model with one user's memory, as `memoryMiddleware` describes it. */
export function withMemory(model: Model, memory: UserMemory, options: MemoryOptions = {}): Wrapped {
  return wrapLanguageModel({ model, middleware: memoryMiddleware(memory, options) });
}

export interface MemoryTools {
  recall: Tool<{ query: string }, { content: string; occurred_at: string | null }[]>;
  remember: Tool<{ fact: string }, { chunk_ids: number[] }>;
}

/** Return tools by which a model searches the user's memory and adds to it by itself. */
export function memoryTools(memory: UserMemory, options: SearchOptions = {}): MemoryTools {
  return {
    recall: tool({
      description: "Search what is known of the user from earlier conversations.",
      inputSchema: jsonSchema<{ query: string }>({
        type: "object",
        properties: { query: { type: "string", description: "A question in plain words." } },
        required: ["query"],
        additionalProperties: false,
      }),
      execute: async ({ query }) => {
        const { hits } = await memory.search(query, options);
        return hits.map(({ content, occurred_at }) => ({ content, occurred_at }));
      },
    }),
    remember: tool({
      description: "Store a lasting fact about the user, in a sentence of its own.",
      inputSchema: jsonSchema<{ fact: string }>({
        type: "object",
        properties: { fact: { type: "string" } },
        required: ["fact"],
        additionalProperties: false,
      }),
      execute: async ({ fact }) => ({ chunk_ids: (await memory.add(fact)).chunk_ids }),
    }),
  };
}
