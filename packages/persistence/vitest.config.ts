import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['outages', 'order-events', 'failed-statements', 'locked-orders', 'lists'],
});
