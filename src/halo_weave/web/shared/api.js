// What the server can be asked, with the types of its answers.

/** @import * as Records from "./records.js" */
import { keyText } from "./chunk-key.js";
import { get, patch, post, put, putText, remove, upload } from "./request.js";

/** @param {Record<string, string>} parameters */
const query = (parameters) => `?${new URLSearchParams(parameters)}`;

export const programApi = {
  /** @returns {Promise<Records.Status>} */
  status: () => get("/api/status"),

  /** @returns {Promise<Records.WindowEntry[]>} */
  windows: () => get("/api/windows"),

  /**
   * Without a name, it gets one from its first message.
   * @param {Records.WindowKind} kind
   * @param {string} [name]
   * @returns {Promise<Records.WindowState>}
   */
  newWindow: (kind, name) => post("/api/windows", { kind, name }),

  /**
   * @param {string} folder
   * @param {string[]} windows in their new order
   * @returns {Promise<unknown>}
   */
  orderWindows: (folder, windows) => put("/api/windows/order", { folder, windows }),

  /**
   * Markdown as blocks of sanitised HTML.
   * @param {string[]} texts
   * @returns {Promise<{ blocks: Records.Block[][] }>}
   */
  render: (texts) => post("/api/render", { texts, by_block: true }),

  /**
   * @param {Record<string, string>} parameters
   * @returns {Promise<Records.Hit[]>}
   */
  search: (parameters) => get(`/api/search${query(parameters)}`),

  /**
   * The chunks of a turn and of the other turn of its exchange, in order.
   * @param {string} number
   * @returns {Promise<Records.SaidChunk[]>}
   */
  turn: (number) => get(`/api/turns/${number}`),

  /** @returns {Promise<Records.Setting[]>} */
  settings: () => get("/api/settings"),

  /**
   * @param {Record<string, Records.SettingValue>} changes null brings the default back
   * @returns {Promise<Records.SettingsChanged>}
   */
  changeSettings: (changes) => put("/api/settings", changes),

  /** @returns {Promise<Records.Job>} */
  reembed: () => post("/api/reembed"),

  /**
   * @param {Blob} file
   * @returns {Promise<Records.Job>}
   */
  import: (file) => upload("/api/import", file),

  /**
   * @param {"export" | "backup"} kind
   * @returns {Promise<Records.Download>}
   */
  makeFile: (kind) => post(`/api/${kind}`),

  /**
   * @param {string} id
   * @returns {Promise<null>}
   */
  stopJob: (id) => post(`/api/jobs/${encodeURIComponent(id)}/stop`),
};

export const presetsApi = {
  /** @returns {Promise<Records.Preset[]>} */
  list: () => get("/api/presets"),

  /**
   * @param {string} name
   * @param {Records.Overrides} settings
   * @returns {Promise<Records.Preset>}
   */
  save: (name, settings) => put(`/api/presets/${encodeURIComponent(name)}`, { settings }),

  /**
   * Of SillyTavern.
   * @param {string} name
   * @param {string} content
   * @returns {Promise<Records.ImportedPreset>}
   */
  import: (name, content) => post("/api/presets/import", { name, content }),

  /** @param {string} name */
  delete: (name) => remove(`/api/presets/${encodeURIComponent(name)}`),
};

export const notesApi = {
  /** @returns {Promise<Records.NotesRecord>} */
  read: () => get("/api/notes"),

  /**
   * @param {number} version
   * @returns {Promise<Records.NotesRecord>}
   */
  version: (version) => get(`/api/notes/versions/${version}`),

  /**
   * The newest first.
   * @param {number} limit
   * @param {number} [before]
   * @returns {Promise<Records.NotesVersion[]>}
   */
  history: (limit, before) => get(`/api/notes/history?limit=${limit}${before === undefined ? "" : `&before=${before}`}`),

  /**
   * @param {string} document
   * @param {number} version the one that was changed
   * @returns {Promise<Records.NotesSaved>}
   */
  save: (document, version) => put("/api/notes", { document, version }),

  /**
   * @param {number} version
   * @returns {Promise<Records.NotesSaved>}
   */
  undo: (version) => post("/api/notes/undo", { version }),

  /**
   * @param {number} restore the version to go back to
   * @param {number} version the one that the notes have
   * @returns {Promise<Records.NotesSaved>}
   */
  restore: (restore, version) => post("/api/notes/restore", { restore, version }),
};

export const treeApi = {
  /** @returns {Promise<Records.TreeNode>} */
  outline: () => get("/api/tree"),

  /**
   * @param {string} q
   * @returns {Promise<Records.TreeHit[]>}
   */
  search: (q) => get(`/api/tree/search${query({ q })}`),

  /**
   * @param {string} path
   * @param {number} [version] the present one if it is left out
   * @returns {Promise<Records.TreeEntryRecord>}
   */
  entry: (path, version) => get(`/api/tree/entry${query(version === undefined ? { path } : { path, version: String(version) })}`),

  /**
   * @param {string} path
   * @returns {Promise<Records.TreeVersion[]>}
   */
  history: (path) => get(`/api/tree/history${query({ path })}`),

  /**
   * The content goes as it was typed, since its numbers may have more digits than JavaScript keeps.
   * @param {string} path
   * @param {string} content JSON
   * @param {number | null} expected the version to replace; null for any
   * @returns {Promise<{ path: string }>}
   */
  save: (path, content, expected) =>
    putText("/api/tree/entry", `{"path":${JSON.stringify(path.toWellFormed())},"expected_version":${JSON.stringify(expected)},"content":${content.toWellFormed()}}`),

  /**
   * @param {string} path
   * @param {number} version
   * @param {number} expected
   * @returns {Promise<unknown>}
   */
  restore: (path, version, expected) => post("/api/tree/restore", { path, version, expected_version: expected }),

  /**
   * @param {string} path
   * @param {boolean} recursive
   * @returns {Promise<{ paths: string[] }>}
   */
  delete: (path, recursive) => post("/api/tree/delete", { path, recursive }),

  /**
   * @param {string[]} paths
   * @returns {Promise<unknown>}
   */
  undelete: (paths) => post("/api/tree/undelete", { paths }),
};

/** @typedef {"pin" | "unpin" | "merge" | "resurrect"} ChunkAction */

/**
 * What one window can be asked. An unpaired surrogate, as a paste may leave it, cannot be sent.
 * @param {string} id
 * @param {() => number | undefined} seen the last event that this tab knows of the window
 */
export function windowApi(id, seen) {
  const base = `/api/windows/${encodeURIComponent(id)}`;
  /**
   * @template Answer
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<Answer>}
   */
  const ask = (path, body) => post(`${base}/${path}`, body, seen());
  return {
    /**
     * @param {string} text
     * @returns {Promise<unknown>}
     */
    send: (text) => ask("messages", { text: text.toWellFormed() }),

    /**
     * @param {string} text
     * @returns {Promise<Records.PendingMessage>}
     */
    queue: (text) => post(`${base}/queue`, { text: text.toWellFormed() }),

    /**
     * @param {string} message
     * @param {string} text
     * @returns {Promise<unknown>}
     */
    changeQueued: (message, text) => put(`${base}/queue/${message}`, { text: text.toWellFormed() }),

    /** @param {string} message */
    withdraw: (message) => remove(`${base}/queue/${message}`),

    /** @returns {Promise<unknown>} */
    sendQueued: () => post(`${base}/send-queued`),

    /** @returns {Promise<unknown>} */
    stop: () => post(`${base}/stop`),

    /** @returns {Promise<unknown>} */
    regenerate: () => ask("regenerate"),

    /** @returns {Promise<unknown>} */
    continue: () => ask("continue"),

    /**
     * @param {string} turn
     * @param {string} text
     * @returns {Promise<unknown>}
     */
    edit: (turn, text) => ask("edit", { turn, text: text.toWellFormed() }),

    /**
     * @param {string} turn
     * @param {string} text
     * @returns {Promise<unknown>}
     */
    editReply: (turn, text) => ask("edit-reply", { turn, text: text.toWellFormed() }),

    /**
     * @param {Records.Key} key
     * @param {ChunkAction} action
     * @returns {Promise<unknown>}
     */
    chunk: (key, action) => ask(`chunks/${keyText(key)}/${action}`),

    /**
     * @param {Records.Key} key
     * @param {{ isExchange: boolean }} scope whether the question and its whole answer go
     * @returns {Promise<Records.Deletion>}
     */
    delete: (key, { isExchange }) => ask(`chunks/${keyText(key)}/delete${isExchange ? "?exchange=true" : ""}`),

    /**
     * @param {Records.Key[]} keys
     * @returns {Promise<unknown>}
     */
    undelete: (keys) => ask("undelete", { keys }),

    /**
     * The newest first, beginning after `before`.
     * @param {number} limit
     * @param {Records.Key} [before]
     * @returns {Promise<Records.Grave[]>}
     */
    graveyard: (limit, before) => get(`${base}/graveyard?limit=${limit}${before ? `&before=${keyText(before)}` : ""}`),

    /**
     * @param {Records.Key[]} keys
     * @returns {Promise<Records.Grave[]>}
     */
    graves: (keys) => get(`${base}/graveyard?keys=${keys.map(keyText).join(",")}`),

    /**
     * The newest first.
     * @param {{ limit: number, before?: number, after?: number }} part
     * @returns {Promise<Records.MomentRecord[]>}
     */
    timeline: ({ limit, before, after }) =>
      get(`${base}/timeline?limit=${limit}${before === undefined ? "" : `&before=${before}`}${after === undefined ? "" : `&after=${after}`}`),

    /**
     * @param {number} moment by its number
     * @returns {Promise<Records.PastContext>}
     */
    contextAt: (moment) => get(`${base}/timeline/${moment}`),

    /**
     * @param {"message" | "keeping"} by
     * @returns {Promise<Records.Heat>}
     */
    heat: (by) => get(`${base}/heat?by=${by}`),

    /**
     * @param {Records.ConversationQuery} place
     * @returns {Promise<Records.ConversationPage>}
     */
    conversation: (place) => get(`${base}/conversation${query(place)}`),

    /** @returns {Promise<Records.Gap[]>} */
    gaps: () => get(`${base}/gaps`),

    /**
     * @param {Records.Key} key
     * @param {number} place
     * @returns {Promise<Records.TokenDetails>}
     */
    token: (key, place) => get(`${base}/tokens/${keyText(key)}/${place}`),

    /**
     * @param {boolean} isOn
     * @returns {Promise<{ folder: string }>}
     */
    capture: (isOn) => post(`${base}/capture`, { is_on: isOn }),

    /**
     * @param {{ name?: string, folder?: string, overrides?: Records.Overrides }} changes
     * @returns {Promise<Records.WindowState | null>}
     */
    change: (changes) => patch(base, changes),

    /** @returns {Promise<unknown>} */
    close: () => post(`${base}/close`),

    remove: () => remove(base),
  };
}
