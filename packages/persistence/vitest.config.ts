import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['order-events', 'locked-orders', 'lists'],
});
