// Requests to the server. A problem becomes an Error whose message is the server's own sentence.

export const keyText = (key) => `${key.turn}.${key.chunk}.${key.role}`;

export const keyOf = (text) => {
  const [turn, chunk, role] = text.split(".");
  return { turn, chunk: Number(chunk), role };
};

export class RequestError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function request(method, path, { body, seen, raw } = {}) {
  const headers = { "X-Halo": "1" };
  if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
  if (seen !== undefined) headers["X-Halo-Seen"] = String(seen);
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: raw ? body : body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new RequestError("The server does not answer; the page tries again by itself.", 0);
  }
  if (answer.status === 204) return null;
  const data = await answer.json().catch(() => undefined);
  if (!answer.ok) throw new RequestError(data?.error ?? `The server answered ${answer.status}.`, answer.status);
  if (data === undefined) throw new RequestError("The server went away while it answered; it may have done what was asked.", 0);
  return data;
}

export const get = (path) => request("GET", path);
export const post = (path, body = {}, options = {}) => request("POST", path, { body, ...options });
export const put = (path, body) => request("PUT", path, { body });
// JSON as it was typed: numbers that JavaScript cannot hold arrive as they are.
export const putText = (path, body) => request("PUT", path, { body, raw: true });
export const patch = (path, body) => request("PATCH", path, { body });
export const remove = (path) => request("DELETE", path);
export const upload = (path, file) => request("POST", path, { body: file, raw: true });

// What one window can be asked to do. Half a character, as a paste may leave it, cannot be sent.
export const windowApi = (id, seen) => {
  const base = `/api/windows/${encodeURIComponent(id)}`;
  const say = (path, body) => post(`${base}/${path}`, body, { seen: seen() });
  return {
    send: (text) => say("messages", { text: text.toWellFormed() }),
    stop: () => post(`${base}/stop`),
    regenerate: () => say("regenerate"),
    continue: () => say("continue"),
    edit: (turn, text) => say("edit", { turn, text: text.toWellFormed() }),
    editReply: (turn, text) => say("edit-reply", { turn, text: text.toWellFormed() }),
    reflect: () => say("reflect"),
    chunk: (key, action) => say(`chunks/${keyText(key)}/${action}`),
    undelete: (keys) => say("undelete", { keys }),
    graveyard: (limit = 200) => get(`${base}/graveyard?limit=${limit}`),
    gaps: () => get(`${base}/gaps`),
    token: (key, place) => get(`${base}/tokens/${keyText(key)}/${place}`),
    capture: (isOn) => post(`${base}/capture`, { is_on: isOn }),
    change: (changes) => patch(base, changes),
    close: () => post(`${base}/close`),
    remove: () => remove(base),
  };
};
