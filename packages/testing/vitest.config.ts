import { definePackageTests } from './src/vitest-preset.ts';

export default definePackageTests();
