// By its path: @petstore/testing depends on this package, for orders, and packages depend on each other in one direction.
import { definePackageTests } from '../testing/src/vitest-preset.ts';

export default definePackageTests({ servers: false });
