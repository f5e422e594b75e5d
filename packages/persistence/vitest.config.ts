import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['migrations', 'list-orders', 'connections'],
  maxWorkers: 3, // most files wait for what a time limit ends; more would take PostgreSQL's answers too long
});
