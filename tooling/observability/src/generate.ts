// Writes what Grafana and Prometheus load. A test fails where a file is out of date.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { GENERATED } from './generated-files.ts';

for (const { file, render } of GENERATED) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, render());
}
