// Private windows, as the page knows them before their state is there.

const PRIVATE_ID = "private-";

/** @param {string} id */
export const isPrivate = (id) => id.startsWith(PRIVATE_ID);
