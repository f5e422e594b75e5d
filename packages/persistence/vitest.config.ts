import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// The memory tests collect garbage before they measure.
export default mergeConfig(definePackageTests(), { test: { execArgv: ['--expose-gc'] } });
