// Waiting that belongs to no element. What belongs to one uses the timers of its Part.

/**
 * Resolves after so many milliseconds, or as soon as `signal` is aborted.
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export const pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
