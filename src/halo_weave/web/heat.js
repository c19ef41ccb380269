// From brightness to colour: eight buckets by quantile of all living tokens, painted through the CSS Custom Highlight
// API, so that no token needs an element. Only what can be seen is painted.

const BUCKETS = 8;
const SAMPLE = 4096;
const HYSTERESIS = 0.15; // share of a bucket's width that a value must go beyond its edge before it changes colour

export const highlightName = (bucket) => `halo-b${bucket}`;

export class Scale {
  edges = new Float64Array(BUCKETS - 1);
  lowest = 0;
  highest = 0;

  // `values` are arrays of numbers; linear spreads the colours evenly between lowest and highest.
  fit(values, isLinear = false) {
    const all = sampled(values);
    if (!all.length) return;
    all.sort();
    this.lowest = all[0];
    this.highest = all[all.length - 1];
    for (let edge = 0; edge < BUCKETS - 1; edge += 1) {
      const share = (edge + 1) / BUCKETS;
      this.edges[edge] = isLinear
        ? this.lowest + share * (this.highest - this.lowest)
        : all[Math.min(all.length - 1, Math.floor(share * all.length))];
    }
  }

  bucket(value) {
    let bucket = 0;
    while (bucket < BUCKETS - 1 && value >= this.edges[bucket]) bucket += 1;
    return bucket;
  }

  // The bucket of a value that was in `earlier`: it stays unless the value is clearly outside.
  settled(value, earlier) {
    const now = this.bucket(value);
    if (Math.abs(now - earlier) !== 1) return now;
    const edge = this.edges[Math.min(now, earlier)];
    const beyond = this.edges[Math.max(now, earlier)] ?? this.highest;
    const before = this.edges[Math.min(now, earlier) - 1] ?? this.lowest;
    const margin = HYSTERESIS * (now > earlier ? beyond - edge : edge - before);
    return Math.abs(value - edge) > margin ? now : earlier;
  }

  histogram(values) {
    const counts = new Array(BUCKETS).fill(0);
    for (const array of values) for (const value of array) counts[this.bucket(value)] += 1;
    return counts;
  }
}

function sampled(arrays) {
  const total = arrays.reduce((sum, array) => sum + array.length, 0);
  const step = Math.max(1, Math.floor(total / SAMPLE));
  const all = [];
  let next = 0;
  for (const array of arrays) {
    for (; next < array.length; next += step) all.push(array[next]);
    next -= array.length;
  }
  return Float64Array.from(all);
}

// Paints text nodes. A chunk that is not shown any more is forgotten with `clear`.
export class Painter {
  #highlights;
  #ranges = new Map();

  constructor() {
    this.#highlights = Array.from({ length: BUCKETS }, () => new Highlight());
    this.#highlights.forEach((highlight, bucket) => CSS.highlights.set(highlightName(bucket), highlight));
  }

  // Colour a chunk's text node by its buckets; `offsets` are where its tokens begin.
  paint(id, node, offsets, buckets) {
    this.clear(id);
    const ranges = [];
    let start = 0;
    for (let place = 1; place <= buckets.length; place += 1) {
      if (place < buckets.length && buckets[place] === buckets[start]) continue;
      if (offsets[start] < offsets[place]) {
        const range = new StaticRange({
          startContainer: node,
          startOffset: offsets[start],
          endContainer: node,
          endOffset: offsets[place],
        });
        ranges.push([buckets[start], range]);
        this.#highlights[buckets[start]].add(range);
      }
      start = place;
    }
    this.#ranges.set(id, ranges);
  }

  clear(id) {
    for (const [bucket, range] of this.#ranges.get(id) ?? []) this.#highlights[bucket].delete(range);
    this.#ranges.delete(id);
  }

  clearAll() {
    for (const highlight of this.#highlights) highlight.clear();
    this.#ranges.clear();
  }
}
