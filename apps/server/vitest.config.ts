import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['embedded', 'events', 'promises', 'streaming', 'tracing', 'two-servers'],
});
