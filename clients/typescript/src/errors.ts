import type { components } from "./schema.js";

/** What the server says of an error (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

/** An error that the server answered with. */
export class MemSenseError extends Error {
  override name = "MemSenseError";

  constructor(
    /** Status of the answer. */
    readonly status: number,
    /** The answer's problem details. */
    readonly problem: Partial<Problem>,
    /** Headers of the answer, such as Retry-After. */
    readonly headers: Headers,
  ) {
    super(problem.detail ?? `the server answered with status ${status}`);
  }

  /** Names of the arguments that are wrong. */
  get arguments(): string[] {
    return (this.problem.errors ?? []).map((fault) => fault.argument);
  }
}

/** An argument is not valid or not known (400, 413, 415, 422). */
export class InvalidInputError extends MemSenseError {
  override name = "InvalidInputError";
}
/** The key is missing, wrong, expired or revoked (401). */
export class AuthenticationError extends MemSenseError {
  override name = "AuthenticationError";
}
/** The key does not allow this (403). */
export class PermissionDeniedError extends MemSenseError {
  override name = "PermissionDeniedError";
}
/** There is no such memory, trace, profile or project for this key (404). */
export class NotFoundError extends MemSenseError {
  override name = "NotFoundError";
}
/** Another request used the idempotency key, or is at work on the same (409). */
export class ConflictError extends MemSenseError {
  override name = "ConflictError";
}
/** The memory has changed since the caller read it (412). */
export class VersionConflictError extends ConflictError {
  override name = "VersionConflictError";
}
/** The key sends too many requests (429). */
export class RateLimitError extends MemSenseError {
  override name = "RateLimitError";
}
/** The database or the embedder does not answer, or the server is busy (503). */
export class UnavailableError extends MemSenseError {
  override name = "UnavailableError";
}
/** The call took longer than the `timeout` that it named (504). */
export class CallTimeoutError extends MemSenseError {
  override name = "CallTimeoutError";
}
/** The user's quota is used up (507). */
export class QuotaExceededError extends MemSenseError {
  override name = "QuotaExceededError";
}
/** No answer: the server is away, the connection broke, or the client's own timeout is over. */
export class ConnectionFailedError extends Error {
  override name = "ConnectionFailedError";
}

const CLASSES: Readonly<Record<number, typeof MemSenseError>> = {
  400: InvalidInputError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  412: VersionConflictError,
  413: InvalidInputError,
  415: InvalidInputError,
  422: InvalidInputError,
  429: RateLimitError,
  503: UnavailableError,
  504: CallTimeoutError,
  507: QuotaExceededError,
};

const isProblem = (body: unknown): body is Problem =>
  typeof body === "object" && body !== null && "detail" in body;

/** Return the error for an answer that is no success. */
export function errorOf(response: Response, body: unknown): MemSenseError {
  const kind = CLASSES[response.status] ?? MemSenseError;
  return new kind(response.status, isProblem(body) ? body : {}, response.headers);
}
