// Fails if a dependency of the server, the command line or the client has a licence that is not allowed.
import { ALLOWED_LICENCES, countPackages, findRefused, listLicences } from './licences.ts';

const report = listLicences();
const refused = findRefused(report);
if (refused.length > 0) {
  console.error(`Not allowed in production, or unknown:\n${refused.map((line) => `  ${line}`).join('\n')}`);
  console.error(`Allowed are ${[...ALLOWED_LICENCES].join(', ')} (tooling/checks/src/licences.ts).`);
  process.exitCode = 1;
} else {
  console.log(`${countPackages(report)} packages: ${Object.keys(report).sort().join(', ')}.`);
}
