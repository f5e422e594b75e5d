/** Builds the package as it is published, into `dist`. */
import { buildPackage } from './build-package.ts';

const { npm_command: command = '', npm_config_user_agent: agent = '' } = process.env;
if (['pack', 'publish'].includes(command) && !agent.startsWith('pnpm/')) {
  // It would export the sources, which are not in it: only pnpm reads `exports` of `publishConfig`.
  throw new Error('Pack with pnpm, and publish the packed file: see docs/releasing.md.');
}
await buildPackage();
