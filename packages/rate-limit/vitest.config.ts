import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most files wait for Redis to come back: four at a time keep two cores at work.
export default mergeConfig(definePackageTests(), { test: { maxWorkers: 4 } });
