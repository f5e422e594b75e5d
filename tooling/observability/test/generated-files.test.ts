import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { ROOT } from '@petstore/server/test-support';
import { expect, test } from 'vitest';
import { GENERATED } from '../src/generated-files.ts';

test.each(GENERATED.map(({ file, render }) => [relative(ROOT, file), file, render] as const))(
  '%s is what is generated: run "pnpm --filter @petstore/tooling-observability generate" after a change',
  (_, file, render) => {
    expect(readFileSync(file, 'utf8')).toBe(render());
  },
);
