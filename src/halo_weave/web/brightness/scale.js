// From numbers to eight buckets, by quantile.

/** @typedef {Float32Array | Float64Array | Uint16Array} Values */

export const BUCKETS = 8;
const SAMPLE = 4096;
const HYSTERESIS = 0.15; // share of a bucket's width that a value must go beyond its edge before it changes colour

export class Scale {
  edges = new Float64Array(BUCKETS - 1).fill(Infinity);
  isEmpty = true;
  lowest = 0;
  median = 0;
  highest = 0;

  /**
   * @param {Values[]} arrays
   * @param {boolean} isLinear whether the colours are spread evenly between lowest and highest
   */
  fit(arrays, isLinear = false) {
    const all = sampled(arrays).sort();
    this.isEmpty = !all.length;
    if (this.isEmpty) return;
    this.lowest = all[0];
    this.median = all[all.length >> 1];
    this.highest = all[all.length - 1];
    for (let edge = 0; edge < BUCKETS - 1; edge += 1) {
      const share = (edge + 1) / BUCKETS;
      this.edges[edge] = isLinear ? this.lowest + share * (this.highest - this.lowest) : edgeAt(all, share);
    }
  }

  /** @param {number} value */
  bucket(value) {
    let bucket = 0;
    while (bucket < BUCKETS - 1 && value >= this.edges[bucket]) bucket += 1;
    return bucket;
  }

  /**
   * The bucket of a value that was in `earlier`: it stays unless the value is clearly outside.
   * @param {number} value
   * @param {number} earlier
   */
  settled(value, earlier) {
    const now = this.bucket(value);
    if (Math.abs(now - earlier) !== 1) return now;
    const lower = Math.min(now, earlier);
    const edge = this.edges[lower];
    const above = Math.min(this.edges[lower + 1] ?? this.highest, this.highest);
    const below = this.edges[lower - 1] ?? this.lowest;
    const margin = HYSTERESIS * (now > earlier ? above - edge : edge - below);
    return Math.abs(value - edge) >= margin ? now : earlier;
  }
}

/**
 * Equal values have one colour, that of the middle of the tie, so that many equals do not all count as the brightest.
 * @param {Float64Array} sorted
 * @param {number} share
 */
function edgeAt(sorted, share) {
  const place = Math.floor(share * sorted.length);
  const value = sorted[place];
  const first = placeWhere(sorted, (one) => one >= value);
  const next = placeWhere(sorted, (one) => one > value);
  return (first + next) / 2 >= place ? value : (sorted[next] ?? Infinity);
}

/**
 * The first place where it is so; it is so at all later ones.
 * @param {Float64Array} sorted
 * @param {(value: number) => boolean} isSo
 */
function placeWhere(sorted, isSo) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isSo(sorted[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @param {Values[]} arrays */
function sampled(arrays) {
  const total = arrays.reduce((sum, array) => sum + array.length, 0);
  const step = Math.max(1, Math.floor(total / SAMPLE));
  const all = new Float64Array(Math.ceil(total / step));
  let [next, place] = [0, 0];
  for (const array of arrays) {
    for (; next < array.length; next += step) all[place++] = array[next];
    next -= array.length;
  }
  return all;
}
