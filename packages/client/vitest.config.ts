import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Memory is measured after a collection.
export default mergeConfig(definePackageTests(), { test: { execArgv: ['--expose-gc'] } });
