import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['migrations', 'lists', 'connections'],
  maxWorkers: 3, // with more on two cores, PostgreSQL responds so late that it counts as hung
});
