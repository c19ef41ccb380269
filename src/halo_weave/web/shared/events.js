// Every event of the page: its name, and the type of its detail (undefined if it has none). Types only; nothing runs.

/** @import { ContextChange, Grave, Job, Key, ProgramNews, Role, Status, WindowEntry, WindowNews } from "./records.js" */
/** @import { Chunk, Departure } from "./window-model.js" */

/** @typedef {"read" | "weave"} View */
/** @typedef {{ chunk: Chunk, place: number }} TokenPlace one token of a chunk in context */
/** @typedef {{ time: string, chunks: readonly Chunk[], changes: (ContextChange & { text: string })[], gone: string }} Moment the context as it was, and what of it is gone since, in words */
/** @typedef {{ turn: string, role: Role, text: string }} EditedMessage */
/** @typedef {{ keys: Key[], text: string }} GraveyardScope the only chunks that the graveyard shows, and why */

/**
 * What happens on the page as a whole; emitted by `app`.
 * @typedef {object} PageEvents
 * @property {string} window another window is open, by its id
 * @property {undefined} lost the server does not answer
 * @property {undefined} connected the window is followed, at first or again
 * @property {View} view
 * @property {undefined} now leave the past that the timeline shows
 * @property {Moment | null} past the timeline shows this moment, or the present
 * @property {string} jump scroll to a chunk, by its key as text
 * @property {undefined} names the speakers have other names
 * @property {TokenPlace | null} token-preview the pointer is over a token
 * @property {TokenPlace} token-lock a token was clicked
 * @property {undefined} pin pin or unpin the chunk whose token is locked
 * @property {EditedMessage} edit put a message into the composer to change it
 * @property {string} hand-back put words into the composer: of a deleted question, or an example
 * @property {GraveyardScope} graveyard-scope show these chunks in the graveyard
 * @property {boolean} graveyard the panel was shown or hidden
 */

/**
 * What changed in the open window; emitted by WindowModel.
 * @typedef {object} WindowEvents
 * @property {undefined} reset everything may be different
 * @property {string[]} chunks keys of chunks that came, went or changed
 * @property {Departure[]} left chunks that left the context and are still in the memory
 * @property {string[]} gone keys of chunks that were deleted, or merged into another one
 * @property {undefined} unknown chunks of this window are in the memory that this tab has not seen
 * @property {undefined} message the user's message is in the memory
 * @property {string} token text that the reply under way got; empty if it began or ended
 * @property {undefined} tools a tool was called
 * @property {string[]} undeleted keys of chunks that are no longer deleted
 * @property {undefined} brightness
 * @property {undefined} meta name, settings, figures or the like
 * @property {undefined} status
 * @property {undefined} pending other messages wait
 * @property {string} notice
 * @property {string} error
 */

/**
 * Emitted by Conversation.
 * @typedef {object} ConversationEvents
 * @property {undefined} changed other passages are loaded, or a loaded one is different
 */

/**
 * What changed in the program; emitted by ProgramModel.
 * @typedef {object} ProgramEvents
 * @property {Status} status
 * @property {readonly WindowEntry[]} windows
 * @property {readonly Job[]} jobs
 * @property {Job} job-ended
 */

/**
 * Emitted by HeatMap.
 * @typedef {object} HeatEvents
 * @property {undefined} mode another value or scale is shown
 * @property {undefined} scaled
 */

/**
 * Emitted by Connection.
 * @template News
 * @typedef {object} ConnectionEvents
 * @property {undefined} open
 * @property {News} news
 * @property {undefined} lost
 * @property {string} ended for good, and why
 */

/** @typedef {ConnectionEvents<WindowNews>} WindowConnectionEvents */
/** @typedef {ConnectionEvents<ProgramNews>} ProgramConnectionEvents */

/**
 * What an element tells those that contain it; sent by `Part.send`.
 * @typedef {object} ElementEvents
 * @property {undefined} attached other files are attached
 * @property {undefined} done the dialog can be closed
 * @property {{ name: DialogName, at: string }} show-dialog
 * @property {number} restore-notes the version to go back to
 * @property {string} tree-changed the path of the entry to show; empty for none
 * @property {Grave} brought-back
 * @property {{ id: string, step: 1 | -1 }} window-moved a window is to change places with its neighbour
 * @property {string} window-gone the id of a window that this tab closes or deletes
 */

/** @typedef {"search" | "settings" | "figures" | "transfer" | "engine" | "help" | "tree" | "notes" | "tools" | "window"} DialogName */

export {};
