// What travels between the server and the page, as types. Numbers without an upper limit (turns, positions) are decimal
// text, times are ISO 8601 text. Types only; nothing runs.

/** @typedef {"user" | "assistant" | "system"} Role */
/** @typedef {{ turn: string, chunk: number, role: Role }} Key identity of a chunk */
/** @typedef {[number, number]} Span start and end in a text, counted in characters */

/** @typedef {{ line: number, html: string, continues: boolean }} Block of rendered Markdown; a list has one for each item */

/**
 * @typedef {object} Marks
 * @property {{ name: string }} [tool] the tool that said it
 * @property {string} [ending] why the reply ended early
 * @property {unknown} [edited]
 * @property {unknown} [reflection]
 * @property {string} [source] where another assistant heard it
 */

/**
 * A chunk in context; `pieces` and `brightness` have an entry per token. `returned` is why it returned, and `looked_at`
 * are the words that the message looked at for which it did. `window` is the id of the window that wrote it, empty if
 * none did.
 * @typedef {object} ChunkRecord
 * @property {Key} key
 * @property {string} position
 * @property {string} time
 * @property {string[]} pieces
 * @property {number[]} brightness
 * @property {number} peak
 * @property {boolean} is_pinned
 * @property {boolean} is_foreign
 * @property {string} window
 * @property {string} returned
 * @property {Span[]} looked_at
 * @property {Marks} [marks]
 */

/** @typedef {{ system: number, notes: number, pinned: number, living: number, returned: number, current: number, free: number }} Meter */

/**
 * @typedef {object} ToolCall
 * @property {string} name empty if the call could not be read
 * @property {string} command
 * @property {Record<string, unknown> | null} arguments
 * @property {string} result
 * @property {boolean} is_error
 * @property {number} seconds
 * @property {string} time
 */

/** @typedef {{ decoded?: number, context?: number, generated?: number, resurrected?: number, first_token_s?: number, reply_s?: number, malformed?: number }} TurnFigures */

/** @typedef {boolean | number | string | string[] | null} SettingValue */
/** @typedef {Record<string, SettingValue>} Overrides settings of one window, by dotted names */

/**
 * Everything about a window but its chunks and the reply under way.
 * @typedef {object} WindowInfo
 * @property {number} event
 * @property {string} id
 * @property {string} name
 * @property {string} doing
 * @property {number} buried
 * @property {number} buried_tokens
 * @property {number} tokens
 * @property {number} budget
 * @property {number} usable
 * @property {number} messages
 * @property {Overrides} overrides
 * @property {ToolCall[]} tool_calls
 * @property {Meter} meter
 * @property {number | null} next_to_bury
 * @property {Key[]} next_keys
 * @property {number | null} queue
 * @property {TurnFigures} stats
 * @property {boolean} is_captured
 * @property {boolean} is_private nothing of it is stored
 * @property {PendingMessage[]} pending messages that wait until the reply ends
 * @property {boolean} recalls text returns from the memory by itself
 */

/** @typedef {WindowInfo & { chunks: ChunkRecord[], writing: string[] | null }} WindowState */

/** @typedef {Partial<Pick<WindowInfo, "meter" | "tokens" | "budget" | "buried" | "buried_tokens" | "next_to_bury" | "next_keys">>} Fullness */

/**
 * @typedef {{ kind: "message" | "written" | "reply" | "edited", data: { chunks: ChunkRecord[] } }
 *   | { kind: "resurrected", data: { chunks?: ChunkRecord[] } }
 *   | { kind: "token" | "notice" | "error", data: { text: string } }
 *   | { kind: "status", data: { text: string, read?: number, total?: number, seconds_left?: number } }
 *   | { kind: "tool", data: ToolCall & { chunks: ChunkRecord[] } }
 *   | { kind: "undeleted", data: { keys: Key[], chunks?: ChunkRecord[] } }
 *   | { kind: "buried", data: { chunks: { key: Key, reason: string }[] } }
 *   | { kind: "deleted", data: { keys: Key[] } }
 *   | { kind: "merged", data: { key: Key, gone: Key, chunk: ChunkRecord | null } }
 *   | { kind: "pinned" | "unpinned", data: { key: Key } }
 *   | { kind: "brightness", data: { brightness: string, attention?: string } }
 *   | { kind: "changed", data: { name?: string, overrides?: Overrides, recalls?: boolean } }
 *   | { kind: "stats", data: TurnFigures & Fullness }
 *   | { kind: "pending", data: { messages: PendingMessage[] } }
 *   | { kind: "queue", data: { place: number | null } }} WindowChange
 */
/** @typedef {WindowChange & { number: number }} WindowEvent */
/** @typedef {{ state?: WindowState, events?: WindowEvent[] }} WindowNews */

/**
 * A window in the list.
 * @typedef {object} WindowEntry
 * @property {string} id
 * @property {string} name
 * @property {string} saved_at
 * @property {boolean} is_open
 * @property {string} doing
 * @property {number} tokens
 * @property {number} messages
 * @property {string} problem
 * @property {boolean} is_private
 * @property {string} folder empty outside of folders
 * @property {number | null} place within its folder; null if nobody has moved it
 */

/** @typedef {{ id: string, text: string }} PendingMessage */
/** @typedef {{ name: string, settings: Overrides }} Preset settings for sampling and prompts, by dotted names */
/** @typedef {{ preset: Preset, ignored: string[] }} ImportedPreset */
/** @typedef {{ key: Key, time: string, text: string }} SaidChunk */
/** @typedef {"ordinary" | "fresh" | "private"} WindowKind */

/** @typedef {{ available: boolean, why_not: string }} Ability */

/**
 * @typedef {object} EngineStatus
 * @property {string} kind
 * @property {string} model
 * @property {number} context
 * @property {number} usable
 * @property {Ability} attention
 * @property {Ability} editing
 * @property {boolean} is_bundled
 * @property {"loading" | "ready" | "away"} state
 * @property {string} text
 * @property {boolean} is_loading
 * @property {string} failure
 */

/** @typedef {{ chunks: number, deleted: number, tokens: number, missing_vectors: number, bytes: number, embedder: string }} MemoryStatus */

/**
 * @typedef {object} Job
 * @property {string} id
 * @property {"import" | "reembed"} kind
 * @property {string} text
 * @property {number} done
 * @property {number | null} total
 * @property {number | null} seconds_left
 * @property {"running" | "done" | "failed" | "stopped"} state
 * @property {string | null} error
 */

/** @typedef {{ program: string, engine: EngineStatus, memory: MemoryStatus, jobs: Job[] }} Status */

/** @typedef {{ kind: "status", data: Status } | { kind: "windows", data: WindowEntry[] } | { kind: "jobs", data: Job[] }} ProgramChange */
/** @typedef {{ state?: { status: Status, windows: WindowEntry[], jobs: Job[] }, events?: ProgramChange[] }} ProgramNews */

/** @typedef {{ key: Key, text: string, tokens: number, peak: number | null, reason: string, buried_at: string, is_deleted: boolean, is_superseded: boolean }} Grave */

/**
 * Buried chunks between two chunks in context; `keys` has the first of them.
 * @typedef {{ after: Key | null, before: Key | null, chunks: number, tokens: number, from: string, to: string, keys: Key[] }} Gap
 */

/** @typedef {"said" | "returned" | "undeleted" | "buried" | "deleted" | "pinned" | "unpinned" | "merged"} ChangeKind */
/** @typedef {{ kind: ChangeKind, key: Key, reason: string, is_pinned: boolean }} ContextChange */
/** @typedef {{ number: number, time: string, changes: ContextChange[] }} MomentRecord a change of the context; numbers ascend */

/**
 * A chunk of an earlier context; `peak` is null if its brightness then is not known.
 * @typedef {object} PastChunk
 * @property {Key} key
 * @property {string} position
 * @property {string} time
 * @property {string[]} pieces
 * @property {number | null} peak
 * @property {boolean} is_pinned
 * @property {boolean} has_returned
 * @property {boolean} is_deleted
 * @property {Marks} marks
 */

/**
 * The context at a moment; `missing` counts chunks that no longer exist.
 * @typedef {{ number: number, time: string, changes: (ContextChange & { text: string })[], chunks: PastChunk[], missing: number }} PastContext
 */

/** @typedef {{ key: Key, attention: string | null, place: number | null }} ChunkHeat what a chunk can be coloured by */
/** @typedef {{ has_reader: boolean, chunks: ChunkHeat[] }} Heat chunks of which nothing is known are missing */

/** @typedef {{ key: Key, time: string, text: string, tokens: number, marks: Marks, reason: string }} PassageRecord `reason` is why it left the context, empty if it did not */
/** @typedef {{ passages: PassageRecord[], has_earlier: boolean, has_later: boolean }} ConversationPage */
/** @typedef {{ before?: string, after?: string, around?: string, limit?: string }} ConversationQuery keys of chunks as text; at most one of the first three */

/** @typedef {{ keys: Key[], question: string | null }} Deletion */
/** @typedef {{ id: number, history: number[] }} TokenDetails */

/**
 * @typedef {object} Hit
 * @property {Key} key
 * @property {string} time
 * @property {string} text
 * @property {Role} role
 * @property {number} score
 * @property {number | null} similarity
 * @property {number | null} word_rank
 * @property {number | null} vector_rank
 * @property {number | null} attention_rank
 * @property {Span[]} looked_at
 * @property {boolean} is_wish
 * @property {boolean} is_living
 * @property {boolean} is_buried
 * @property {string} window the id of the window that wrote it, empty if none did
 */

/** @typedef {{ version: number, time: string | null, origin: string, command: string, document: string, text: string | null }} NotesRecord */
/** @typedef {{ version: number, time: string, origin: string, command: string, bytes: number }} NotesVersion */
/** @typedef {{ version: number, text: string }} NotesSaved */

/** @typedef {{ heading: string, path: string, entry: object | null, children: TreeNode[] }} TreeNode */
/** @typedef {{ key: Key, role: Role, time: string, text: string, tokens: number, similarity: number }} TreeQuote */
/** @typedef {{ path: string, version: number, created: string, modified: string, accessed: string, content: unknown, document: string, snapshot: TreeQuote[] }} TreeEntryRecord */
/** @typedef {{ path: string, modified: string, score: number }} TreeHit */
/** @typedef {{ version: number, time: string, origin: string, is_deletion: boolean }} TreeVersion */

/**
 * @typedef {object} Setting
 * @property {string} name
 * @property {string} type
 * @property {SettingValue} default
 * @property {SettingValue} value
 * @property {string} allowed
 * @property {number | null} minimum
 * @property {number | null} maximum
 * @property {string[]} choices
 * @property {string} help
 * @property {string} source
 * @property {boolean} is_secret
 */

/** @typedef {{ restart: string[], overridden: string[] }} SettingsChanged */
/** @typedef {{ link: string, name: string, bytes: number }} Download a link that works once */

export {};
