/** What test/server.py prints: addresses and keys. */
export interface Told {
  url: string;
  /** A server that takes one request at once. */
  slow: string;
  key: string;
  reader: string;
  writer: string;
  small: string;
}

const isTold = (value: unknown): value is Told => typeof value === "object" && value !== null;

export function readTold(text: string): Told {
  const value: unknown = JSON.parse(text);
  if (!isTold(value)) throw new Error("start the tests by `npm test`");
  return value;
}

/** Return a user that no other run has. */
export const newUser = (): string => `user-${crypto.randomUUID()}`;

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
