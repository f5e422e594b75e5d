import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most files wait for Redis to come back: three at a time need no more than two cores.
export default mergeConfig(definePackageTests(), { test: { maxWorkers: 3 } });
