// Chunks of an earlier context, as the views show chunks.

/** @import { Moment } from "../shared/events.js" */
/** @import { PastChunk, PastContext } from "../shared/records.js" */
/** @import { Chunk } from "../shared/window-model.js" */
import { keyText } from "../shared/chunk-key.js";
import { plural } from "../shared/format.js";

/**
 * @param {PastContext} past
 * @returns {Moment}
 */
export function momentOf({ time, changes, chunks, missing }) {
  const deleted = chunks.filter((chunk) => chunk.is_deleted).length;
  const gone = [deleted ? `${plural(deleted, "passage")} deleted since` : "", missing ? `${plural(missing, "passage")} no longer in the memory` : ""];
  return { time, changes, chunks: chunks.map(chunkOf), gone: gone.filter(Boolean).join(", ") };
}

/**
 * Each token has the brightness of its passage, because that of single tokens is not stored.
 * @param {PastChunk} chunk
 * @returns {Chunk}
 */
function chunkOf({ key, position, time, pieces, peak, is_pinned, has_returned: hasReturned, marks }) {
  return {
    key,
    position,
    time,
    pieces,
    peak: peak ?? 0,
    is_pinned,
    is_foreign: false,
    returned: hasReturned ? "It had been brought back." : "",
    looked_at: [],
    marks,
    window: "",
    id: keyText(key),
    turn: key.turn,
    role: key.role,
    text: pieces.join(""),
    brightness: peak === null ? new Float32Array() : new Float32Array(pieces.length).fill(peak),
  };
}
