import assert from "node:assert/strict";
import test from "node:test";
import { generateText, simulateReadableStream, streamText } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { MemSense } from "memsense";
import { memoryTools, withMemory } from "memsense/ai-sdk";
import { collect, newUser, readTold } from "./told.js";

const told = readTold(process.env.MEMSENSE_TEST ?? "null");
const memory = new MemSense(told);

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const stop = { unified: "stop" as const, raw: "stop" };

/** Return a model that answers with these texts in turn, and the prompts that it gets. */
function makeModel(...answers: (string | { tool: string; input: object })[]) {
  const prompts: string[] = [];
  let turn = 0;
  const next = (prompt: unknown) => {
    prompts.push(JSON.stringify(prompt));
    return answers[Math.min(turn++, answers.length - 1)] ?? "";
  };
  const model = new MockLanguageModelV3({
    doGenerate: ({ prompt }) => {
      const answer = next(prompt);
      const content =
        typeof answer === "string"
          ? { type: "text" as const, text: answer }
          : {
              type: "tool-call" as const,
              toolCallId: String(turn),
              toolName: answer.tool,
              input: JSON.stringify(answer.input),
            };
      const finishReason =
        typeof answer === "string" ? stop : { unified: "tool-calls" as const, raw: "tool_calls" };
      return Promise.resolve({ content: [content], finishReason, usage, warnings: [] });
    },
    doStream: ({ prompt }) => {
      const answer = next(prompt);
      const words = typeof answer === "string" ? answer.split(/(?= )/) : [];
      const deltas = words.map((delta) => ({ type: "text-delta" as const, id: "1", delta }));
      const chunks = [
        { type: "stream-start" as const, warnings: [] },
        { type: "text-start" as const, id: "1" },
        ...deltas,
        { type: "text-end" as const, id: "1" },
        { type: "finish" as const, finishReason: stop, usage },
      ];
      return Promise.resolve({ stream: simulateReadableStream({ chunks }) });
    },
  });
  return { model, prompts };
}

const failures: unknown[] = [];
const onError = (error: unknown) => failures.push(error);

test("a chat remembers: the model gets what the user said, and its answer is stored", async () => {
  const ada = memory.forUser(newUser());
  await ada.add("My canoe is orange.");
  const { model, prompts } = makeModel("Orange.");
  const chat = withMemory(model, ada, { sessionId: "chat", onError });
  const { text } = await generateText({ model: chat, prompt: "What colour is my canoe?" });
  assert.equal(text, "Orange.");
  assert.match(prompts[0] ?? "", /memsense-context.*canoe is orange/);
  const [stored] = await collect(ada.list({ session_ids: ["chat"] }));
  assert.equal(stored?.user_text, "What colour is my canoe?");
  assert.equal(stored?.assistant_text, "Orange.");
  assert.deepEqual(failures, []);
});

test("a streamed answer is stored once it has ended", async () => {
  const ada = memory.forUser(newUser());
  const { model } = makeModel("Paddle of ash noted.");
  const { textStream } = streamText({
    model: withMemory(model, ada, { onError }),
    prompt: "My paddle is made of ash wood.",
  });
  assert.equal((await collect(textStream)).join(""), "Paddle of ash noted.");
  const [stored, ...others] = await collect(ada.list());
  assert.equal(stored?.user_text, "My paddle is made of ash wood.");
  assert.equal(stored?.assistant_text, "Paddle of ash noted.");
  assert.deepEqual(others, []);
  assert.deepEqual(failures, []);
});

test("the steps of a tool loop share their context, and the turn is stored once", async () => {
  const ada = memory.forUser(newUser());
  await ada.add("My canoe is orange.");
  const { model, prompts } = makeModel(
    { tool: "recall", input: { query: "canoe" } },
    { tool: "remember", input: { fact: "The user likes canoes." } },
    "It is orange.",
  );
  const { text } = await generateText({
    model: withMemory(model, ada, { sessionId: "chat", onError }),
    tools: { ...memoryTools(ada) },
    stopWhen: ({ steps }) => steps.length >= 4,
    prompt: "What colour is my canoe?",
  });
  assert.equal(text, "It is orange.");
  assert.equal(prompts.length, 3);
  for (const prompt of prompts) assert.match(prompt, /memsense-context.*canoe is orange/);
  assert.match(prompts[1] ?? "", /tool-result.*canoe is orange/);
  const stored = (await collect(ada.list())).map((it) => [it.user_text, it.assistant_text]);
  assert.deepEqual(new Set(stored.map(String)), new Set([
    "What colour is my canoe?,It is orange.",
    "The user likes canoes.,",
    "My canoe is orange.,",
  ]));
  assert.deepEqual(failures, []);
});

test("a server that is away does not stop a chat", async () => {
  const away = new MemSense({ url: "http://127.0.0.1:9", retries: 0 }).forUser("ada");
  const errors: unknown[] = [];
  const { model } = makeModel("Hello.");
  const chat = withMemory(model, away, { onError: (error) => errors.push(error) });
  assert.equal((await generateText({ model: chat, prompt: "Which colour is it?" })).text, "Hello.");
  const { textStream } = streamText({ model: chat, prompt: "Which colour is it?" });
  assert.equal((await collect(textStream)).join(""), "Hello.");
  assert.equal(errors.length, 4);
});
