import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  execArgv: ['--expose-gc'], // memory is measured after a collection
});
