import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Side by side, because what each waits for is a time limit: PostgreSQL by every way that leads to it.
export default mergeConfig(definePackageTests(), { test: { maxConcurrency: 40 } });
