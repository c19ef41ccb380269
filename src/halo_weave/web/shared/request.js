// Requests to the server. A problem becomes an Error whose message is the server's own sentence.

export class RequestError extends Error {
  /**
   * @param {string} message
   * @param {number} status the HTTP status; 0 if there was no whole answer
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * What went wrong, in a sentence.
 * @param {unknown} error
 */
export const errorText = (error) => (error instanceof Error ? error.message : String(error));

/** Whether somebody else changed it first.
 * @param {unknown} error
 */
export const isConflict = (error) => error instanceof RequestError && error.status === 409;

/** @typedef {{ json?: object, raw?: string | Blob, seen?: number }} Sent `seen` is the last event that this tab knows */

/**
 * @template Answer what the server gives at this path
 * @param {string} method
 * @param {string} path
 * @param {Sent} [sent]
 * @returns {Promise<Answer>}
 */
async function request(method, path, { json, raw, seen } = {}) {
  /** @type {Record<string, string>} */
  const headers = { "X-Halo": "1" };
  if (json !== undefined) headers["Content-Type"] = "application/json";
  if (seen !== undefined) headers["X-Halo-Seen"] = String(seen);
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const answer = await fetch(path, { method, headers, body }).catch(() => {
    throw new RequestError("The server is not responding. The page will keep trying.", 0);
  });
  const data = answer.status === 204 ? null : await answer.json().catch(() => undefined);
  if (!answer.ok) throw new RequestError(data?.error ?? `The server answered with status ${answer.status}.`, answer.status);
  if (data === undefined) throw new RequestError("The connection ended before the answer was complete. The server may have done what you asked.", 0);
  return data;
}

/**
 * @template Answer
 * @param {string} path
 * @returns {Promise<Answer>}
 */
export const get = (path) => request("GET", path);

/**
 * @template Answer
 * @param {string} path
 * @param {object} [json]
 * @param {number} [seen]
 * @returns {Promise<Answer>}
 */
export const post = (path, json = {}, seen) => request("POST", path, { json, seen });

/**
 * @template Answer
 * @param {string} path
 * @param {object} json
 * @returns {Promise<Answer>}
 */
export const put = (path, json) => request("PUT", path, { json });

/**
 * JSON as it was typed: numbers that JavaScript cannot hold arrive as they are.
 * @template Answer
 * @param {string} path
 * @param {string} raw
 * @returns {Promise<Answer>}
 */
export const putText = (path, raw) => request("PUT", path, { raw });

/**
 * @template Answer
 * @param {string} path
 * @param {object} json
 * @returns {Promise<Answer>}
 */
export const patch = (path, json) => request("PATCH", path, { json });

/**
 * @param {string} path
 * @returns {Promise<null>}
 */
export const remove = (path) => request("DELETE", path);

/**
 * @template Answer
 * @param {string} path
 * @param {Blob} file
 * @returns {Promise<Answer>}
 */
export const upload = (path, file) => request("POST", path, { raw: file });
