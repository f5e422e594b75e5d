import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({ longest: ['resources', 'usage', 'interruption', 'embedded'] });
