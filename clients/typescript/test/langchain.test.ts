import assert from "node:assert/strict";
import test from "node:test";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { MemSense } from "memsense";
import { MemSenseChatHistory, MemSenseRetriever } from "memsense/langchain";
import { newUser, readTold } from "./told.js";

const told = readTold(process.env.MEMSENSE_TEST ?? "null");
const memory = new MemSense(told);

test("a retriever finds what the user said", async () => {
  const ada = memory.forUser(newUser());
  await ada.add("My canoe is orange.", { tags: ["boats"] });
  await ada.add("I cook on Sundays.");
  const retriever = new MemSenseRetriever({ memory: ada, options: { top_k: 1, tags: ["boats"] } });
  const [document, ...others] = await retriever.invoke("Which colour has my canoe?");
  assert.match(document?.pageContent ?? "", /orange/);
  assert.deepEqual(document?.metadata.tags, ["boats"]);
  assert.deepEqual(others, []);
});

test("a history returns the words of its session in order", async () => {
  const ada = memory.forUser(newUser());
  const history = new MemSenseChatHistory({ memory: ada, sessionId: "one" });
  const long = Array.from({ length: 120 }, (_, number) => `🐝 Hive ${number} has ${number} bees.`).join(" ");
  await history.addMessages([new HumanMessage("I keep bees."), new AIMessage("How many hives?")]);
  await history.addMessage(new HumanMessage(long));
  await history.addMessage(new ToolMessage({ content: "400", tool_call_id: "1" }));
  await history.addMessage(new AIMessage("So many."));
  const other = new MemSenseChatHistory({ memory: ada, sessionId: "two" });
  await other.addMessage(new HumanMessage("Elsewhere."));
  const texts = (await history.getMessages()).map((message) => message.text);
  assert.deepEqual(texts, ["I keep bees.", "How many hives?", long, "So many."]);
  await history.clear();
  assert.deepEqual(await history.getMessages(), []);
  assert.equal((await other.getMessages()).length, 1);
});

test("a chat with a history remembers what was said before", async () => {
  const ada = memory.forUser(newUser());
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
  const seen: string[] = [];
  const chat = new RunnableWithMessageHistory({
    runnable: prompt
      .pipe((value) => {
        seen.push(value.toString());
        return value;
      })
      .pipe(new FakeListChatModel({ responses: ["Noted.", "Orange."] })),
    getMessageHistory: (sessionId: string) => new MemSenseChatHistory({ memory: ada, sessionId }),
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  });
  const config = { configurable: { sessionId: "chat" } };
  await chat.invoke({ input: "My canoe is orange." }, config);
  await chat.invoke({ input: "Which colour has it?" }, config);
  assert.doesNotMatch(seen[0] ?? "", /Noted/);
  assert.match(seen[1] ?? "", /My canoe is orange\.[\s\S]*Noted\.[\s\S]*Which colour/);
});
