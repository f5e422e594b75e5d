// Plain JavaScript that every Node can run: it is imported before any module that an older Node could not load.

/**
 * The versions that serve, for a package.json. The others emit no `close` for a response that waits behind another one on a
 * connection that is reset: what its request has acquired would never be released.
 */
export const NODE_RANGE = '^24.16.0 || >=26.1.0';

/** Runs the install scripts, one of which installs Node. pnpm itself is silent where they are switched off. */
const REBUILD = 'npx --yes pnpm@12 --config.ignoreScripts=false rebuild';

/**
 * Ends the process with a message of one line if its Node is too old.
 *
 * @param {string} [command] a command that installs the right Node and uses it, if there is one
 */
export function requireNode(command) {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if ((major === 24 && minor >= 16) || (major === 26 && minor >= 1) || major > 26) return;
  const remedy =
    command === undefined ? '' : ` "${command}" installs one, unless ignore-scripts is set: then "${REBUILD}" does.`;
  console.error(`petstore: This is Node ${node}, and Node 24.16 or newer (not 25, not 26.0) is required.${remedy}`);
  process.exit(1);
}
