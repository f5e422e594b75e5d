/** Builds the package as it is published, into `dist`. */
import { buildPackage } from './build-package.ts';

await buildPackage();
