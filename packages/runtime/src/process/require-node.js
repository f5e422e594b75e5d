// Plain JavaScript that every Node reads: it is imported before anything that an older one could not.
const NODE_MIN = 24;

/**
 * Ends the process, in one line, where its Node is too old.
 *
 * @param {string} [command] which brings the right Node along, where there is one
 */
export function requireNode(command) {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= NODE_MIN) return;
  const remedy = command === undefined ? '' : ` "${command}" brings one along.`;
  console.error(`petstore: This is Node ${node}, and Node ${NODE_MIN} or newer is needed.${remedy}`);
  process.exit(1);
}
