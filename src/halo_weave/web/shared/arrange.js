// Lists that keep focus and selection while they change.

/**
 * Bring the children of `list` to `nodes`; those that stay are not touched.
 * @param {Element} list
 * @param {Node[]} nodes
 */
export function arrange(list, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...list.childNodes]) if (!wanted.has(node)) node.remove();
  nodes.forEach((node, place) => {
    const there = list.childNodes[place];
    if (there !== node) list.insertBefore(node, there ?? null);
  });
}
