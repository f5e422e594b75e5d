// Plain JavaScript that every Node can run: it is imported before any module that an older Node could not load.
const NODE_MIN = 24;

/**
 * Ends the process with a message of one line if its Node is too old.
 *
 * @param {string} [command] a command that uses the right Node, if there is one
 */
export function requireNode(command) {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= NODE_MIN) return;
  const remedy = command === undefined ? '' : ` "${command}" brings one along.`;
  console.error(`petstore: This is Node ${node}, and Node ${NODE_MIN} or newer is needed.${remedy}`);
  process.exit(1);
}
