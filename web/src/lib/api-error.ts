import { isObject, jsonOrUndefined } from "./json";
import { t } from "./t";

/** A refused or failed call, with the server's own words. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status, or 0 when the server was not reached. */
  readonly status: number;
  /** The stable code of the error; empty when the server gave none. */
  readonly code: string;
  /** How many seconds the server asks to wait, after too many calls. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, status: number, code = "", retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Reads the error out of a response that is not ok, in whichever of the API's shapes it comes. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const { message, code } = parseErrorBody(text);
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError(
    message ?? t("error.status", { status: response.status }),
    response.status,
    code,
    Number.isFinite(wait) ? wait : undefined,
  );
}

interface ErrorBody {
  message?: string | undefined;
  code?: string | undefined;
}

/**
 * The message and code of an error body: `{error: {code, message}}` of `/api`, `{error, code}` of the chat,
 * `{success: false, error}` of the proxy, and `{code, message}` of the rows.
 */
export function parseErrorBody(text: string): ErrorBody {
  const body = jsonOrUndefined(text);
  if (!isObject(body)) return {};
  const inner = body["error"];
  if (isObject(inner)) return { message: string(inner["message"]), code: string(inner["code"]) };
  return {
    message: string(body["error"]) ?? string(body["message"]) ?? string(body["msg"]),
    code: string(body["code"]) ?? string(body["error_code"]),
  };
}

function string(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
