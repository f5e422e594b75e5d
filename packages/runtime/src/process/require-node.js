// Plain JavaScript that every Node reads: it is imported before anything that an older one could not.
const NODE_MIN = 24;

/**
 * Ends the process, in one line, where its Node is too old.
 *
 * @param {string} command which brings the right Node along
 */
export function requireNode(command) {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= NODE_MIN) return;
  console.error(
    `petstore: This is Node ${node}, and Node ${NODE_MIN} or newer is needed. "${command}" brings one along.`,
  );
  process.exit(1);
}
