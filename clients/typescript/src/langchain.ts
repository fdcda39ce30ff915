/** Memory for LangChain.js: a retriever, and a chat history. */
import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { Document } from "@langchain/core/documents";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import type { Memory, SearchOptions, UserMemory } from "./index.js";

export interface RetrieverInput extends BaseRetrieverInput {
  memory: UserMemory;
  /** Arguments of each search, such as `top_k`. */
  options?: SearchOptions;
}

/** Retriever over one user's memory. */
export class MemSenseRetriever extends BaseRetriever {
  lc_namespace = ["memsense", "retrievers"];
  readonly #memory: UserMemory;
  readonly #options: SearchOptions;

  constructor({ memory, options = {}, ...fields }: RetrieverInput) {
    super(fields);
    this.#memory = memory;
    this.#options = options;
  }

  override async _getRelevantDocuments(query: string): Promise<Document[]> {
    const { hits } = await this.#memory.search(query, this.#options);
    return hits.map(
      ({ chunk_id, content, ...rest }) =>
        new Document({ id: String(chunk_id), pageContent: content, metadata: { chunk_id, ...rest } }),
    );
  }
}

/** Chat history of one session: the texts of its messages, as memory keeps them. */
export class MemSenseChatHistory extends BaseListChatMessageHistory {
  lc_namespace = ["memsense", "stores"];
  readonly #memory: UserMemory;
  readonly #session: string;

  constructor({ memory, sessionId }: { memory: UserMemory; sessionId: string }) {
    super();
    this.#memory = memory;
    this.#session = sessionId;
  }

  override async getMessages(): Promise<BaseMessage[]> {
    const chunks: Memory[] = [];
    for await (const chunk of this.#memory.list({ session_ids: [this.#session], limit: 200 })) {
      chunks.push(chunk);
    }
    chunks.sort((one, other) => one.ordinal - other.ordinal || one.part - other.part);
    const exchanges: { user: string; assistant: string }[] = [];
    for (const { part, user_text, assistant_text, opening_length } of chunks) {
      if (part === 0) exchanges.push({ user: "", assistant: "" });
      const exchange = exchanges.at(-1);
      if (exchange === undefined) continue;
      // A later part begins as the first one does. The length counts characters, as Python does.
      exchange.user += Array.from(user_text).slice(opening_length).join("");
      exchange.assistant += assistant_text;
    }
    return exchanges.flatMap(({ user, assistant }) => [
      ...(user === "" ? [] : [new HumanMessage(user)]),
      ...(assistant === "" ? [] : [new AIMessage(assistant)]),
    ]);
  }

  override async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  /** Store what both sides said; other messages, such as tool results, have no place in memory. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    const roles: Readonly<Record<string, string>> = { human: "user", ai: "assistant" };
    const said = messages.flatMap((message) => {
      const role = roles[message.type];
      return role === undefined || message.text === "" ? [] : [{ role, content: message.text }];
    });
    if (said.length > 0) await this.#memory.add(said, { session_id: this.#session });
  }

  /** Erase the session from memory. Needs a key with the scope admin. */
  override async clear(): Promise<void> {
    await this.#memory.erase({ session_id: this.#session });
  }
}
