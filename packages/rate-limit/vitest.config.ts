import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most tests wait for Redis to come back, or for a ban to end: two at a time need no more than one.
export default mergeConfig(definePackageTests(), { test: { maxWorkers: 2 } });
