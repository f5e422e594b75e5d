import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({ longest: ['embedded-redis', 'embedded', 'events', 'promises', 'tracing'] });
